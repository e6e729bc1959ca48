"""A disk that cannot be read: an error for as long as it lasts."""

from collections.abc import Awaitable, Callable

import pytest

from tests.unit.engines.sqlite.faulty_disk import faulty_disk
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import EngineError

QUESTIONS: dict[str, Callable[[Engine], Awaitable[object]]] = {
    "get": lambda engine: engine.kv.get("sub:1"),
    "list": lambda engine: engine.kv.list_keys("sub:"),
    "stats": lambda engine: engine.queue.stats(),
    "changes": lambda engine: anext(engine.changes(after=0)),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
async def test_a_disk_that_cannot_be_read_is_an_error_while_it_lasts(
    url: str, ask: Callable[[Engine], Awaitable[object]]
) -> None:
    with faulty_disk() as disk:
        engine = await open_engine(url)
        await engine.commit([Put("sub:1", b"one")])
        disk.fails_to_read = True
        for _ in range(5):  # more often than there are readers: none is left in a bad state
            with pytest.raises(EngineError, match="reading or writing the disk failed"):
                await ask(engine)

        disk.fails_to_read = False

        assert await ask(engine)
        await engine.close()
