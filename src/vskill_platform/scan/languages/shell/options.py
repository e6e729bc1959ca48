"""Parse a command's arguments into options, values and operands."""

import msgspec


class Options(msgspec.Struct):
    #: Each option without its dashes, with its values; a flag has none.
    given: dict[str, list[str]] = {}
    rest: list[str] = []

    def has(self, *names: str) -> bool:
        return any(name in self.given for name in names)

    def values(self, *names: str) -> list[str]:
        return [value for name in names for value in self.given.get(name, ())]

    def first(self, *names: str) -> str | None:
        return next(iter(self.values(*names)), None)


def read_options(args: list[str], short: str = "", long: frozenset[str] = frozenset()) -> Options:
    """Read *args*; the letters in *short* and the names in *long* take a value."""
    found = Options()
    index = 0
    while index < len(args):
        arg = args[index]
        index += 1
        if arg == "--":
            found.rest.extend(args[index:])
            break
        if arg.startswith("--") or (arg.startswith("-") and arg[1:] in long):
            name, equals, value = arg.lstrip("-").partition("=")
            values = found.given.setdefault(name, [])
            if equals:
                values.append(value)
            elif name in long and index < len(args):
                values.append(args[index])
                index += 1
        elif arg.startswith("-") and len(arg) > 1:
            index += _read_letters(found, arg[1:], short, args[index : index + 1])
        else:
            found.rest.append(arg)
    return found


def _read_letters(found: Options, letters: str, short: str, following: list[str]) -> int:
    """Read ``-sSLo file``; return how many more arguments were taken."""
    for at, letter in enumerate(letters):
        values = found.given.setdefault(letter, [])
        if letter in short:
            attached = letters[at + 1 :]
            values.extend([attached] if attached else following)
            return 0 if attached else len(following)
    return 0


def first_command(args: list[str], valued: frozenset[str], skip: int = 0) -> list[str]:
    """Return the command after a wrapper's own options, assignments and *skip* arguments."""
    index = 0
    while index < len(args):
        arg = args[index]
        if arg in valued:
            index += 2
        elif arg == "--" or (arg.startswith("-") and len(arg) > 1) or _is_assignment(arg):
            index += 1
        elif skip:
            skip -= 1
            index += 1
        else:
            break
    return args[index:]


def _is_assignment(arg: str) -> bool:
    name, equals, _ = arg.partition("=")
    return bool(equals) and name.isidentifier()
