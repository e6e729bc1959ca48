"""Handlers for functions of Python and its libraries."""

from collections.abc import Callable
from itertools import product

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import SecretKind
from vskill_platform.scan.languages.flow import (
    commands,
    decoding,
    files,
    indirect,
    names,
    network,
    own_code,
    texts,
)
from vskill_platform.scan.languages.flow.secrets import secret_store
from vskill_platform.scan.languages.flow.state import Call, Flow, Handler
from vskill_platform.scan.languages.flow.values import UNKNOWN, Taint, TaintSource, Value, tainted
from vskill_platform.scan.languages.python.start_processes import (
    become,
    execute,
    execute_shell,
    run_terminal,
    spawn,
    spawn_terminal,
)

#: Folders in which Python searches for packages, and for files that it runs at each start.
_SITE_PACKAGES = "/usr/lib/python3/site-packages"


def _retrieve(flow: Flow, call: Call) -> Value | None:
    """urlretrieve(url, path)."""
    answer = network.record(flow, network.LibraryRequest(line=call.line, url=call.arg(0, "url")))
    path = call.arg(1, "filename", "out")
    files.note_write(flow, call.line, path)
    files.keep(flow, path, answer.taints)
    return Value(text=path.text, name=path.name, taints=answer.taints)


def _change_mode(flow: Flow, call: Call) -> Value | None:
    mode = call.arg(1, "mode").number
    if mode is not None and mode & 0o6000:
        flow.add(Act.ELEVATE, call.line, detail="setuid")
    return UNKNOWN


def _set_registry(flow: Flow, call: Call) -> Value | None:
    text = " ".join(arg.text or "" for arg in call.args)
    if any(
        word in text for word in ("DisableAntiSpyware", "DisableRealtimeMonitoring", "EnableLUA")
    ):
        flow.add(Act.DISARM, call.line, detail="Windows protection")
    if "CurrentVersion\\Run" in text:
        flow.add(Act.WRITE, call.line, detail="runs at start or on a timer")
    return None


def _install(flow: Flow, call: Call) -> Value | None:
    """pip.main(['install', package])."""
    words = [item.text or "" for item in call.arg(0).items or ()]
    if "install" in words:
        flow.add(Act.INSTALL, call.line, detail=" ".join(words[words.index("install") + 1 :]))
    return UNKNOWN


def _hide_in_memory(flow: Flow, call: Call) -> Value | None:
    flow.add(Act.HIDE, call.line, detail="a program in memory only")
    return UNKNOWN


def _run_module(flow: Flow, call: Call) -> Value | None:
    """wasmtime.Module(engine, code)."""
    for given in call.args:
        own_code.run_tainted(flow, call.line, given)
    return UNKNOWN


def _run_magic(flow: Flow, call: Call) -> Value | None:
    """get_ipython().run_line_magic("sx", command)."""
    if call.arg(0).text in {"sx", "sc", "system", "bash", "sh", "script", "!"}:
        return commands.shell_text(flow, call, call.args[-1], call.line)
    return None


def _package_folder(_flow: Flow, _call: Call) -> Value | None:
    return Value(text=_SITE_PACKAGES)


def _package_folders(_flow: Flow, _call: Call) -> Value | None:
    return Value(items=(Value(text=_SITE_PACKAGES),))


def _talk(flow: Flow, call: Call) -> Value | None:
    """code.interact(readfunc=connection.readline): a Python shell for the other side."""
    if any(
        one.source in {TaintSource.SOCKET, TaintSource.REMOTE} for one in tainted(*call.given())
    ):
        flow.add(Act.REVERSE_SHELL, call.line, detail="a Python shell connected to a socket")
    return UNKNOWN


def _home(_flow: Flow, _call: Call) -> Value | None:
    return Value(text="~")


_CLIENTS = (
    "requests", "requests.Session()", "requests.session()", "httpx", "httpx.Client()",
    "httpx.AsyncClient()",
    "aiohttp.ClientSession()", "cloudscraper.create_scraper()", "requests_html.HTMLSession()",
    "curl_cffi.requests",
    "requests.sessions.Session()", "urllib3.PoolManager()", "niquests",
)  # fmt: skip
_VERBS = {
    "get": "GET", "head": "GET", "options": "GET", "post": "POST", "put": "PUT", "patch": "PATCH",
    "delete": "DELETE",
    "request": "REQUEST", "stream": "REQUEST",
}  # fmt: skip
_PROCESSES = (
    "subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call",
    "subprocess.check_output",
)  # fmt: skip
_SHELL = (
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
    "commands.getoutput",
    "asyncio.create_subprocess_shell", "popen2.popen2", "pexpect.run",
    "platform.popen", "system", "popen", "getoutput", "get_ipython().system",
    "get_ipython().getoutput", "IPython.get_ipython().system", "paramiko.ProxyCommand",
    "os.popen2", "os.popen3", "invoke.run", "invoke.Context().run",
    "ctypes.CDLL().system", "ctypes.CDLL().popen", "ctypes.PyDLL().system",
    "ctypes.cdll.LoadLibrary().system", "ctypes.cdll.msvcrt.system",
)  # fmt: skip
_EXEC = (
    "os.execv", "os.execve", "os.execvp", "os.execvpe", "os.execl", "os.execlp", "os.execle",
    "os.execlpe", "os.posix_spawn", "os.posix_spawnp",
)  # fmt: skip
_SPAWN = tuple(f"os.spawn{ending}" for ending in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe"))
_CONNECTIONS = (
    "http.client.HTTPConnection", "http.client.HTTPSConnection", "smtplib.SMTP",
    "smtplib.SMTP_SSL", "ftplib.FTP",
    "ftplib.FTP_TLS", "websocket.create_connection", "websockets.connect",
    "socket.create_connection",
    "websockets.sync.client.connect", "paramiko.Transport", "telnetlib.Telnet",
    "imaplib.IMAP4", "imaplib.IMAP4_SSL", "poplib.POP3", "poplib.POP3_SSL", "nntplib.NNTP",
)  # fmt: skip


def _each(handler: Callable[[Flow, Call], Value | None], *called: str) -> dict[str, Handler]:
    return dict.fromkeys(called, handler)


PYTHON_CALLS: dict[str, Handler] = {
    **{
        f"{client}.{verb}": network.client_call(method)
        for client, (verb, method) in product(_CLIENTS, _VERBS.items())
    },
    **_each(network.make_client, "requests.Session", "requests.session", "httpx.Client",
            "httpx.AsyncClient",
            "aiohttp.ClientSession"),
    "requests.api.request": network.client_call("REQUEST"),
    **_each(network.open_url, "urllib.request.urlopen", "urllib2.urlopen", "urlopen"),
    **_each(network.prepare_request, "urllib.request.Request", "urllib2.Request"),
    **_each(_retrieve, "urllib.request.urlretrieve", "urllib.urlretrieve", "wget.download",
            "gdown.download"),
    **_each(network.connection, *_CONNECTIONS),
    **_each(network.look_up, "socket.gethostbyname", "socket.getaddrinfo", "dns.resolver.resolve",
            "dns.resolver.query",
            "socket.gethostbyname_ex"),
    **_each(network.bind_address, "uvicorn.run", "http.server.HTTPServer",
            "socketserver.TCPServer", "app.run",
            "http.server.ThreadingHTTPServer", "asyncio.start_server", "websockets.serve",
            "HTTPServer"),
    **_each(own_code.run_code, "eval", "exec", "builtins.eval", "builtins.exec",
            "types.FunctionType", "execfile",
            "code.InteractiveInterpreter().runcode"),
    **_each(commands.run_process, *_PROCESSES),
    **_each(commands.run_shell, *_SHELL),
    **_each(execute, *_EXEC),
    **_each(commands.run_arguments, "asyncio.create_subprocess_exec", "distutils.spawn.spawn"),
    **_each(indirect.load_pickle, "pickle.loads", "pickle.load", "cPickle.loads", "dill.loads",
            "cloudpickle.loads", "dill.load", "cloudpickle.load", "_pickle.loads",
            "pickle.Unpickler"),
    **_each(indirect.run_if_foreign, "timeit.timeit", "timeit.Timer", "timeit.repeat",
            "cProfile.run", "profile.run", "pdb.run", "pdb.runeval", "trace.Trace().run",
            "code.InteractiveInterpreter().runsource", "code.InteractiveConsole().push",
            "pandas.eval", "numexpr.evaluate", "yaml.unsafe_load", "yaml.load", "yaml.full_load",
            "jsonpickle.decode", "torch.load", "numpy.load", "shelve.open", "zipimport.zipimporter",
            "logging.config.fileConfig", "logging.config.listen", "asteval.Interpreter().eval",
            "IPython.get_ipython().run_cell", "get_ipython().run_cell", "types.CodeType",
            "importlib.machinery.SourceFileLoader", "imp.load_module",
            "cffi.FFI().dlopen", "doctest.run_docstring_examples", "jinja2.Template",
            "keras.models.load_model", "tensorflow.keras.models.load_model",
            "tf.keras.models.load_model", "skops.io.load", "pycaret.load_model"),
    "torch.hub.load": indirect.load_repository,
    **_each(_run_module, "wasmtime.Module", "wasmer.Module", "wasm3.Environment().parse_module"),
    **_each(indirect.same_function, "staticmethod", "classmethod"),
    "webbrowser.GenericBrowser": commands.run_process,
    "logging.config.dictConfig": indirect.configure,
    **_each(indirect.extend_path, "sys.path.insert", "sys.path.append", "site.addsitedir"),
    **_each(indirect.bind, "functools.partial", "functools.partialmethod", "toolz.curry"),
    **_each(indirect.bind_method, "operator.methodcaller", "operator.attrgetter"),
    **_each(indirect.fold, "functools.reduce", "reduce"),
    **_each(network.read_url, "pandas.read_csv", "pandas.read_json", "pandas.read_html",
            "pandas.read_table", "polars.read_csv", "xmlrpc.client.ServerProxy", "fsspec.open",
            "smart_open.open"),
    **_each(network.load_url, "pandas.read_pickle", "torch.hub.load_state_dict_from_url"),
    **_each(own_code.load_code, "runpy.run_path", "importlib.util.spec_from_file_location",
            "os.startfile", "ctypes.CDLL", "ctypes.cdll.LoadLibrary", "ctypes.WinDLL",
            "ctypes.PyDLL", "joblib.load", "imp.load_source"),
    **_each(spawn_terminal, "pty.spawn"),
    "os.dup2": commands.duplicate,
    **_each(spawn, *_SPAWN),
    "pexpect.spawn": run_terminal,
    "os.memfd_create": _hide_in_memory,
    **_each(_run_magic, "get_ipython().run_line_magic", "get_ipython().run_cell_magic"),
    **_each(texts.same_argument, "str", "bytes.decode", "pathlib.Path", "pathlib.PurePath",
            "pathlib.PosixPath", "list",
            "tuple", "set", "frozenset", "sorted", "compile", "shlex.split", "os.path.expanduser",
            "os.path.abspath",
            "os.path.realpath", "os.path.expandvars", "os.path.normpath", "os.fspath",
            "shlex.quote", "iter",
            "io.StringIO", "io.BytesIO", "io.TextIOWrapper", "memoryview", "textwrap.dedent",
            "os.fdopen", "enumerate", "reversed"),
    **_each(texts.join_path, "os.path.join", "posixpath.join", "ntpath.join"),
    **_each(texts.numbers, "ord", "range"),
    **_each(texts.copy, "dict", "copy.copy", "copy.deepcopy", "collections.OrderedDict"),
    **_each(texts.write_out, "json.dumps", "print", "repr", "pprint.pprint", "yaml.dump",
            "pickle.dumps",
            "urllib.parse.urlencode", "json.dump", "pprint.pformat"),
    **_each(texts.variable, "os.getenv", "os.environ.get", "os.environ.pop",
            "os.environ.setdefault", "os.environb.get"),
    "pathlib.Path.home": _home,
    "map": texts.map_items,
    **_each(names.get_attribute, "getattr"),
    **_each(names.import_module, "__import__", "importlib.import_module", "importlib.__import__"),
    **_each(decoding.decoding(decoding.base_64), "base64.b64decode", "base64.urlsafe_b64decode",
            "base64.decodebytes",
            "base64.standard_b64decode", "binascii.a2b_base64", "base64.decodestring"),
    **_each(decoding.decoding(decoding.hexadecimal), "bytes.fromhex", "binascii.unhexlify",
            "bytearray.fromhex",
            "binascii.a2b_hex", "base64.b16decode"),
    **_each(decoding.decoding(decoding.inflate), "zlib.decompress", "gzip.decompress"),
    "lzma.decompress": decoding.decoding(decoding.unpack_lzma),
    "bz2.decompress": decoding.decoding(decoding.unpack_bz2),
    **_each(decoding.decoding(decoding.percent), "urllib.parse.unquote"),
    **_each(decoding.decoding(decoding.entities), "html.unescape"),
    **_each(decoding.opaque, "base64.b32decode", "base64.b85decode", "base64.a85decode",
            "marshal.loads"),
    "codecs.decode": decoding.decode_by_name,
    **_each(decoding.characters, "chr", "bytes", "bytearray"),
    **_each(files.open_file, "open", "io.open", "codecs.open", "aiofiles.open", "builtins.open",
            "os.open"),
    **_each(files.read_argument, "sqlite3.connect", "dotenv.dotenv_values", "linecache.getlines",
            "numpy.loadtxt"),
    **_each(files.copy_file, "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree",
            "shutil.move",
            "os.rename", "os.replace", "os.symlink", "os.link"),
    **_each(files.open_archive, "tarfile.open", "zipfile.ZipFile", "gzip.open"),
    **_each(files.make_temporary, "tempfile.NamedTemporaryFile", "tempfile.TemporaryFile",
            "tempfile.mkstemp",
            "tempfile.mkdtemp", "tempfile.TemporaryDirectory", "tempfile.mktemp",
            "tempfile.gettempdir"),
    "os.write": files.write_descriptor,
    "shutil.make_archive": files.pack_folder,
    **_each(files.list_folder, "glob.glob", "glob.iglob", "os.walk", "os.listdir", "os.scandir"),
    **_each(files.delete, "shutil.rmtree", "os.remove", "os.unlink", "os.removedirs"),
    **_each(secret_store(SecretKind.KEYCHAIN, TaintSource.PART), "keyring.get_password",
            "keyring.get_credential"),
    **_each(secret_store(SecretKind.BROWSER, TaintSource.SECRET), "browser_cookie3.chrome",
            "browser_cookie3.load",
            "browser_cookie3.firefox", "browser_cookie3.edge", "browser_cookie3.brave",
            "browser_cookie3.safari",
            "rookiepy.chrome", "rookiepy.load", "rookiepy.firefox", "pycookiecheat.chrome_cookies",
            "win32crypt.CryptUnprotectData"),
    "netrc.netrc": secret_store(SecretKind.TOKENS, TaintSource.PART),
    "os.chmod": _change_mode,
    **_each(_package_folder, "site.getusersitepackages", "sysconfig.get_path"),
    "site.getsitepackages": _package_folders,
    **_each(_talk, "code.interact", "code.InteractiveConsole().interact"),
    **_each(become, "os.setuid", "os.seteuid", "os.setreuid", "os.setresuid"),
    **_each(execute_shell, "ctypes.windll.shell32.ShellExecuteW", "win32api.ShellExecute"),
    "winreg.SetValueEx": _set_registry,
    **_each(_install, "pip.main", "pip._internal.main", "pip._internal.cli.main.main"),
}  # fmt: skip

PYTHON_METHODS: dict[str, Handler] = {
    **_each(network.unknown_client, "post", "put", "patch"),
    **_each(network.send_on_connection, "send", "sendall", "sendto", "sendmail", "send_message",
            "storbinary", "request",
            "putrequest"),
    **_each(network.upload, "upload_file", "upload_fileobj", "put_object", "upload_from_filename",
            "upload_blob"),
    **_each(network.receive, "recv", "recvfrom", "makefile", "getresponse", "read_all",
            "read_until", "read_some", "fetch", "retr"),
    **_each(network.download, "get_object", "download_as_string", "download_as_bytes",
            "download_as_text", "download_blob"),
    **_each(network.connect, "connect", "connect_ex"),
    **_each(network.bind_address, "bind", "run"),
    **_each(texts.same_receiver, "strip", "rstrip", "lstrip", "encode", "expanduser", "resolve",
            "absolute", "as_posix",
            "splitlines", "lower", "__str__", "hex"),
    "decode": texts.text_of,
    "join": texts.join,
    "joinpath": texts.join_receiver,
    "replace": texts.replace,
    "format": texts.fill_in,
    **_each(texts.split, "split", "partition", "rpartition", "rsplit"),
    **_each(texts.group, "group", "groups"),
    "get": texts.entry,
    **_each(texts.copy, "copy", "items", "values"),
    **_each(decoding.opaque, "decrypt", "getdata", "getpixel"),
    **_each(files.read_receiver, "read", "read_text", "read_bytes", "readlines", "readline"),
    **_each(files.write_receiver, "write", "write_text", "write_bytes"),
    **_each(secret_store(SecretKind.CLOUD, TaintSource.SECRET), "get_frozen_credentials",
            "get_session_token"),
    "open": files.open_path,
    **_each(files.pack, "add", "writestr"),
    **_each(files.list_folder, "iterdir", "rglob", "glob"),
    **_each(files.delete_receiver, "unlink", "rmdir"),
}  # fmt: skip

PYTHON_CONSTANTS: dict[str, Value] = {
    "os.environ": Value(name="os.environ", taints=frozenset({Taint(TaintSource.ALL_ENV)})),
    "os.environb": Value(name="os.environ", taints=frozenset({Taint(TaintSource.ALL_ENV)})),
    "sys.executable": Value(text="python3"),
    "os.sep": Value(text="/"),
    "os.path.sep": Value(text="/"),
    "os.linesep": Value(text="\n"),
}
