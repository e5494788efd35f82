"""The shelf of traces: bounded per user and in all, no run lost while it runs."""

from __future__ import annotations

from msgspec.structs import replace

from app.limits import Limits
from app.session import Shelf, numbers
from core.extras import LayersExtras
from tests import sample_traces

TRACE = sample_traces.chain()


def filled(shelf: Shelf, user: str, count: int) -> list[str]:
    names = []
    for _ in range(count):
        names.append(shelf.add(user, "Your run", TRACE).name)
        shelf.tidy()
    return names


def test_a_user_keeps_the_last_runs_only() -> None:
    shelf = Shelf(Limits(runs_per_user=3))
    names = filled(shelf, "anna", 5)
    assert [shelf.get(name) is not None for name in names] == [False, False, True, True, True]


def test_users_do_not_push_each_other_out_below_the_common_bound() -> None:
    shelf = Shelf(Limits(runs_per_user=2))
    anna = filled(shelf, "anna", 2)
    filled(shelf, "bert", 5)
    assert all(shelf.get(name) for name in anna)


def test_all_traces_together_stay_within_the_memory() -> None:
    most = 5 * numbers(TRACE)
    shelf = Shelf(Limits(runs_per_user=8, stored_numbers=most))
    for user in range(20):
        filled(shelf, f"user {user}", 2)
    assert sum(numbers(s.trace) for user in range(20) for s in shelf.of(f"user {user}")) <= most


def test_the_least_recently_used_goes_first() -> None:
    shelf = Shelf(Limits(stored_numbers=2 * numbers(TRACE)))
    first, second = filled(shelf, "anna", 2)
    assert shelf.get(first)
    filled(shelf, "bert", 1)
    assert shelf.get(first)
    assert shelf.get(second) is None


def test_the_newest_trace_stays_even_if_it_is_too_large() -> None:
    shelf = Shelf(Limits(stored_numbers=1))
    (name,) = filled(shelf, "anna", 1)
    assert shelf.get(name)


def test_words_and_method_blocks_weigh_as_well() -> None:
    base = numbers(TRACE)
    words = dict.fromkeys(range(10000, 20000), b"x" * 64)
    assert numbers(replace(TRACE, vocabulary={**TRACE.vocabulary, **words})) >= base + 50_000
    block = LayersExtras(
        total=9, skipped_attention=list(range(9)), skipped_mlp=[], exit_layer=None, shared=0
    )
    r = replace(TRACE.rounds[1], extras=[block] * 10)
    assert numbers(replace(TRACE, rounds=[*TRACE.rounds[:1], r])) > numbers(
        replace(TRACE, rounds=list(TRACE.rounds[:2]))
    )


def test_there_is_a_bound_on_how_many_traces_all_users_have() -> None:
    shelf = Shelf(Limits(stored_traces=5))
    for user in range(20):
        filled(shelf, f"user {user}", 1)
    assert len(shelf) == 5


def test_what_runs_is_never_dropped() -> None:
    shelf = Shelf(Limits(runs_per_user=1, stored_numbers=1))
    running = shelf.add("anna", "Your run")
    running.running = True
    filled(shelf, "anna", 3)
    assert shelf.get(running.name) is running


def test_a_run_that_made_no_round_leaves_nothing() -> None:
    shelf = Shelf(Limits())
    shelf.add("anna", "Your run")
    shelf.tidy()
    assert len(shelf) == 0


def test_a_closed_tab_stops_its_runs_and_only_those() -> None:
    shelf = Shelf(Limits())
    gone, other = shelf.add("anna", "Your run", TRACE), shelf.add("bert", "Your run", TRACE)
    shelf.forget("anna")
    assert gone.cancelled.is_set()
    assert not other.cancelled.is_set()
    assert shelf.get(gone.name) is None
    assert shelf.get(other.name) is other


def test_names_cannot_be_guessed_from_each_other() -> None:
    shelf = Shelf(Limits(runs_per_user=100))
    names = filled(shelf, "anna", 50)
    assert len(set(names)) == 50
    assert min(map(len, names)) >= 12
