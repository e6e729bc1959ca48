// Creates and uses passkeys. Without this script, or without passkeys in the browser, their forms
// stay hidden.
"use strict";

const toBytes = (text) => Uint8Array.from(
  atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const toText = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Ask the server what to create or use; its errors are texts for the user. */
async function askForOptions(form) {
  const answer = await fetch(form.dataset.options, {
    method: "POST", body: new URLSearchParams(new FormData(form)), credentials: "same-origin",
    headers: { Accept: "application/json" },
  });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.problem || said.detail || "The server did not answer. Try again.");
  said.challenge = toBytes(said.challenge);
  if (said.user) said.user.id = toBytes(said.user.id);
  for (const list of [said.excludeCredentials, said.allowCredentials]) {
    for (const one of list ?? []) one.id = toBytes(one.id);
  }
  return said;
}

/** Return the response of the device in the form that the server reads. */
function describe(credential) {
  const response = { clientDataJSON: toText(credential.response.clientDataJSON) };
  for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    const part = credential.response[name];
    if (part) response[name] = toText(part);
  }
  return JSON.stringify({
    id: credential.id, rawId: toText(credential.rawId), type: credential.type, response,
    clientExtensionResults: {},
  });
}

async function usePasskey(form) {
  const problem = form.querySelector("[data-problem]");
  problem.hidden = true;
  try {
    const options = await askForOptions(form);
    const credential = form.dataset.passkey === "create"
      ? await navigator.credentials.create({ publicKey: options })
      : await navigator.credentials.get({ publicKey: options });
    form.elements.credential.value = describe(credential);
    form.submit();
  } catch (error) {
    problem.textContent = error instanceof DOMException
      ? "Your device did not create or use a passkey. Try again." : error.message;
    problem.hidden = false;
  }
}

if (window.PublicKeyCredential) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.closest("[data-passkey-part]")?.removeAttribute("hidden");
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      usePasskey(form);
    });
  }
}
