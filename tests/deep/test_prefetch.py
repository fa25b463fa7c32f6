import threading

import pytest

pytest.importorskip("torch")

from multitudes.deep.prefetch import prefetched


def n_prefetch_threads():
    return sum(thread.name == "prefetch" for thread in threading.enumerate())


@pytest.mark.parametrize("ahead", [0, 1, 3, 100])
def test_same_items_in_the_same_order(ahead):
    assert list(prefetched(range(20), ahead)) == list(range(20))
    assert n_prefetch_threads() == 0


@pytest.mark.parametrize("ahead", [0, 1, 10])
def test_an_error_comes_after_the_items_before_it(ahead):
    def items():
        yield 1
        yield 2
        raise ValueError("broken")

    reader = prefetched(items(), ahead)
    assert next(reader) == 1
    assert next(reader) == 2
    with pytest.raises(ValueError, match="broken"):
        next(reader)
    assert n_prefetch_threads() == 0


def test_closing_early_ends_the_thread_though_its_queue_is_full():
    made = []

    def items():
        for i in range(1000):
            made.append(i)
            yield i

    reader = prefetched(items(), 2)
    assert next(reader) == 0
    assert n_prefetch_threads() == 1
    reader.close()
    assert n_prefetch_threads() == 0
    assert len(made) < 10


def test_items_are_made_in_another_thread_ahead_of_the_reader():
    third_made = threading.Event()
    threads = set()

    def items():
        for i in range(3):
            threads.add(threading.get_ident())
            if i == 2:
                third_made.set()
            yield i

    reader = prefetched(items(), 2)
    assert next(reader) == 0
    assert third_made.wait(timeout=10)
    assert list(reader) == [1, 2]
    assert threading.get_ident() not in threads
