"""Write docs/modules.md: every module with the first line of its docstring, by folder."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/vskill_platform"
PAGE = ROOT / "docs/modules.md"
HEAD = """# All modules, by folder

Start with the [ten files that explain how a skill is processed](walkthrough.md). The modules at the
top of the package, which most others use, come first. Then the folders follow in the order of the
layers: `cli` imports from `web`, `web` from `queue`, and so on, never the other way round. `make
layers` checks it, also between the folders of `scan` and `web` (see `pyproject.toml`). `make
format` writes this page from the modules' docstrings, and the sentence below the name of a layer
from the docstring of the package.
"""
#: From the top layer to the lowest one.
LAYERS = (
    "cli", "client", "web", "cron", "queue", "catalogue", "events", "intake", "publish", "access",
    "fetch", "scan", "stores", "runtime", "engines", "model", "base",
)  # fmt: skip
#: An entry of the map of the package: a folder and its purpose; a line can have two entries.
_PURPOSE = re.compile(r"(?:^|\s{3,})([a-z]+)\s{2,}(\S+(?: \S+)*)", re.MULTILINE)


def describe_modules() -> str:
    """Return the page."""
    return (
        HEAD
        + _describe_folder(PACKAGE)
        + "".join(
            _describe_folder(folder)
            for layer in LAYERS
            for folder in sorted({path.parent for path in (PACKAGE / layer).rglob("*.py")})
        )
    )


def _describe_folder(folder: Path) -> str:
    lines = [
        f"| `{path.name}` | {_first_line(path)} |"
        for path in sorted(folder.glob("*.py"))
        if path.name != "__init__.py"
    ]
    name = "settings and errors" if folder == PACKAGE else folder.relative_to(PACKAGE).as_posix()
    purpose = _purposes().get(name, "")
    intro = f"\n{purpose[0].upper()}{purpose[1:]}.\n" if purpose else ""
    table = "\n".join(["\n| module | purpose |", "|---|---|", *lines, ""]) if lines else ""
    return f"\n## {name}\n{intro}{table}" if intro or table else ""


@cache
def _purposes() -> dict[str, str]:
    """Return the purpose of each layer, from the map in the docstring of the package."""
    docstring = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text())) or ""
    return dict(_PURPOSE.findall(docstring))


def _first_line(path: Path) -> str:
    docstring, _, _ = path.read_text().partition('"""\n')  # to parse the rest takes a second
    text = ast.get_docstring(ast.parse(f'{docstring}"""')) or ""
    return text.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(describe_modules())
