"""Bar charts: correct heights for all numbers."""

import pytest

from vskill_platform.web.html.charts import HEIGHT, WIDTH, Series, round_ticks, stacked_bars


def test_the_highest_stack_fills_the_height() -> None:
    plot = stacked_bars(
        ["Mon", "Tue"], [Series("published", "good", (3, 1)), Series("stopped", "bad", (1, 0))]
    )
    first, second = plot.columns

    assert plot.top == 4
    assert [bar.tone for bar in first.bars] == ["good", "bad"]
    assert [bar.height for bar in first.bars] == pytest.approx([HEIGHT * 3 / 4, HEIGHT / 4])
    assert first.bars[1].y == pytest.approx(0)
    assert [bar.height for bar in second.bars] == pytest.approx([HEIGHT / 4])
    assert second.bars[0].y + second.bars[0].height == pytest.approx(HEIGHT)
    assert second.x + second.width == pytest.approx(WIDTH)


def test_each_column_says_what_it_shows() -> None:
    plot = stacked_bars(
        ["Mon", "Tue"], [Series("published", "good", (3, 0)), Series("stopped", "bad", (1, 0))]
    )

    assert [column.words for column in plot.columns] == [
        "Mon: 3 published, 1 stopped", "Tue: nothing",
    ]  # fmt: skip


def test_nothing_at_all_is_an_empty_plot() -> None:
    plot = stacked_bars(["Mon"], [Series("published", "good", (0,))])

    assert plot.is_empty
    assert plot.columns[0].bars == ()
    assert stacked_bars([], []).is_empty


@pytest.mark.parametrize(
    ("highest", "is_whole", "ticks"),
    [
        (0, True, (1, 0)),
        (1, True, (1, 0)),
        (3, True, (3, 2, 1, 0)),
        (5, True, (6, 4, 2, 0)),
        (7, True, (8, 6, 4, 2, 0)),
        (13, True, (15, 10, 5, 0)),
        (96, True, (100, 50, 0)),
        (1234, True, (1500, 1000, 500, 0)),
        (0.7, False, (0.8, 0.6, 0.4, 0.2, 0)),
        (9.1, False, (10, 7.5, 5, 2.5, 0)),
        (0.02, False, (0.02, 0.015, 0.01, 0.005, 0)),
    ],
)
def test_the_axis_has_round_numbers(
    highest: float, is_whole: bool, ticks: tuple[float, ...]
) -> None:
    assert round_ticks(highest, is_whole=is_whole) == pytest.approx(ticks)


def test_each_tick_has_a_line_inside_the_picture() -> None:
    plot = stacked_bars(["Mon"], [Series("published", "good", (96,))])

    assert plot.lines == (0.5, HEIGHT / 2, HEIGHT - 0.5)


def test_small_numbers_fill_the_height_too() -> None:
    plot = stacked_bars(["Mon"], [Series("median", "info", (0.02,))], has_totals=False)

    assert plot.top == 0.02
    assert plot.columns[0].bars[0].height == pytest.approx(HEIGHT)
