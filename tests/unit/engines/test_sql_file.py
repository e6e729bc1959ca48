"""SQL in .sql files, found by name."""

from importlib.resources import files

from vskill_platform.engines.sql_file import load_migrations, load_queries

PACKAGE = "vskill_platform.engines.sqlite"


def test_a_query_is_found_under_its_name() -> None:
    queries = load_queries(PACKAGE, "queries.sql")

    assert queries["delete"] == "DELETE FROM kv WHERE key = :key"
    assert not any("-- name:" in query for query in queries.values())


def test_every_query_has_a_name_of_its_own() -> None:
    text = files(PACKAGE).joinpath("queries.sql").read_text(encoding="utf-8")

    assert len(load_queries(PACKAGE, "queries.sql")) == text.count("-- name: ") > 0


def test_migrations_come_in_the_order_of_their_numbers() -> None:
    first, *_ = load_migrations(PACKAGE, "schema")

    assert "CREATE TABLE kv" in first
