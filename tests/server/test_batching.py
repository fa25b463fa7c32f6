"""Texts that wait are tagged together, and nobody's answer depends on who else was asking."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque

import pytest

pytest.importorskip("fastapi")

import httpx

from multitudes.errors import MultitudesError
from multitudes.server import Limits
from multitudes.server.batching import FEW, STEP_CHARACTERS, STEP_TEXTS, Job, Texts, taken
from multitudes.server.refusals import BusyError, GoneError, QueueFullError
from multitudes.server.work import Work
from multitudes.tagger import predict_tags
from tests.server.serving import serving

WORDS = ["leather", "silver", "oak", "spoon", "belt", "desk", "cotton", "large"]
TEXTS = [f"a {a} {b} with a {c}" for a in WORDS for b in WORDS for c in WORDS[:3]]


def texts(tagger, n, text="a leather belt", **options):
    return Texts(tagger, [text] * n, list, **options)


def never(_):
    """A client that does not leave."""
    return lambda: None


class TestTaken:
    def test_those_that_ask_for_the_same_go_together_in_order(self, shop_tagger):
        jobs = [texts(shop_tagger, n) for n in (1, 2, 3)]
        batch = taken(waiting := deque(jobs))
        assert batch.parts == [(jobs[0], 1), (jobs[1], 2), (jobs[2], 3)]
        assert not waiting

    def test_those_that_ask_for_something_else_wait(self, shop_tagger):
        same, other = texts(shop_tagger, 1), texts(shop_tagger, 1, top_k=3)
        plain, last = Job(lambda _: 1), texts(shop_tagger, 1)
        batch = taken(waiting := deque([same, other, plain, last]))
        assert batch.jobs == [same, last]
        assert list(waiting) == [other, plain]
        assert taken(waiting).jobs == [other]
        assert taken(waiting).jobs == [plain]

    def test_a_large_request_alone_takes_whole_steps(self, shop_tagger):
        assert taken(deque([texts(shop_tagger, 1000)])).n_texts == STEP_TEXTS

    def test_a_large_request_leaves_room_for_small_ones_and_goes_on(self, shop_tagger):
        large, small = texts(shop_tagger, 1000), [texts(shop_tagger, 1) for _ in range(50)]
        batch = taken(deque([large, *small]))
        assert batch.parts[0] == (large, FEW)
        assert set(batch.jobs) == {large, *small}
        # Behind them it takes what they leave.
        batch = taken(deque([*small, large]))
        assert batch.parts[-1] == (large, STEP_TEXTS - 50)

    def test_long_texts_make_small_steps_but_each_is_taken(self, shop_tagger):
        long = "x" * (STEP_CHARACTERS // 2 + 1)
        jobs = [texts(shop_tagger, 3, long), texts(shop_tagger, 1, long), texts(shop_tagger, 1)]
        assert taken(waiting := deque(jobs)).parts == [(jobs[0], 1), (jobs[1], 1)]
        assert list(waiting) == [jobs[2]]
        assert taken(deque([texts(shop_tagger, 2, "x" * 10**6)])).n_texts == 1


def asked_together(work, jobs):
    """Results of jobs that are all there before the first is done."""

    async def scenario():
        held = threading.Event()
        first = asyncio.create_task(work.do(lambda _: held.wait(10), gone=never))
        while not work.is_busy:
            await asyncio.sleep(0.001)
        asking = [asyncio.create_task(work.result_of(job, gone=never)) for job in jobs]
        while work.n_waiting < len(jobs):
            await asyncio.sleep(0.001)
        held.set()
        await first
        return await asyncio.gather(*asking, return_exceptions=True)

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    "options",
    [{}, {"top_k": 3, "threshold": 0.2}, {"kind": "probabilities"}, {"kind": "sets"}],
)
def test_answers_are_those_of_each_text_alone_to_the_bit(shop_tagger, options):
    work, sizes = Work(max_waiting=500, seconds=60), []
    work.watch = lambda batch, _: sizes.append(len(batch.jobs))
    jobs = [Texts(shop_tagger, [text], list, **options) for text in TEXTS]
    found = asked_together(work, jobs)
    alone = [
        [list(tags) for tags in predict_tags(shop_tagger, [text], **options)] for text in TEXTS
    ]
    assert found == alone  # floats compared exactly
    assert max(sizes) > 100
    assert len(sizes) < 5
    work.stop()


def test_large_requests_are_whole_and_in_order(shop_tagger):
    work = Work(max_waiting=500, seconds=60)
    jobs = [
        Texts(shop_tagger, TEXTS * 3, list),
        *(Texts(shop_tagger, [text], list) for text in TEXTS[:20]),
        Texts(shop_tagger, TEXTS[::-1], list),
        Texts(shop_tagger, [], list),
    ]
    found = asked_together(work, jobs)
    expected = [list(tags) for tags in predict_tags(shop_tagger, TEXTS)]
    assert found[0] == expected * 3
    assert [one[0] for one in found[1:21]] == expected[:20]
    assert found[21:] == [expected[::-1], []]
    work.stop()


def test_an_error_is_its_own_requests_alone(shop_tagger, monkeypatch):
    original = shop_tagger._predict_kind

    def broken(given, *args, **kwargs):
        if "poison" in given:
            raise ZeroDivisionError("of our own making")
        return original(given, *args, **kwargs)

    monkeypatch.setattr(shop_tagger, "_predict_kind", broken)
    work = Work(max_waiting=50, seconds=60)
    jobs = [Texts(shop_tagger, [text], list) for text in ("a belt", "poison", "a spoon")]
    first, second, third = asked_together(work, jobs)
    assert isinstance(second, ZeroDivisionError)
    assert [first, third] == [
        [list(tags) for tags in predict_tags(shop_tagger, [text])] for text in ("a belt", "a spoon")
    ]
    work.stop()


def test_an_error_of_all_reaches_all(shop_tagger):
    work = Work(max_waiting=50, seconds=60)
    jobs = [Texts(shop_tagger, ["a"], list, top_k=0) for _ in range(3)]
    found = asked_together(work, jobs)
    assert len(found) == 3
    assert all(isinstance(one, MultitudesError) for one in found)
    work.stop()


def test_a_small_request_does_not_wait_for_a_large_one(shop_tagger):
    with serving(shop_tagger, Limits(max_texts=20_000, max_body=10**7, grace_seconds=1)) as served:
        large = {"texts": TEXTS * 80, "top_k": 20}
        done: list[float] = []
        asking = threading.Thread(
            target=lambda: (served.post("/v1/predict", large), done.append(time.monotonic()))
        )
        asking.start()
        while not served.server.work.is_busy:
            time.sleep(0.001)
        with httpx.Client() as client:
            answers = []
            while not done and len(answers) < 5:
                answers.append(client.post(f"{served.url}/v1/predict", json={"texts": ["a belt"]}))
        assert [answer.status_code for answer in answers] == [200] * 5
        assert not done  # all five were answered in the meantime
        asking.join()


def test_the_queue_is_bounded_and_those_who_leave_make_room(shop_tagger):
    async def scenario():
        work, held = Work(max_waiting=2, seconds=60), threading.Event()
        leave = []

        def leaving(callback):
            leave.append(callback)
            return lambda: None

        first = asyncio.create_task(work.do(lambda _: held.wait(10), gone=never))
        while not work.is_busy:
            await asyncio.sleep(0.001)
        waiting = [
            asyncio.create_task(work.result_of(texts(shop_tagger, 1), gone=leaving))
            for _ in range(2)
        ]
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError, match="2 requests wait already"):
            await work.result_of(texts(shop_tagger, 1), gone=never)
        leave[0]()
        with pytest.raises(GoneError):
            await waiting[0]
        third = asyncio.create_task(work.result_of(texts(shop_tagger, 1), gone=never))
        await asyncio.sleep(0)
        work.stop()
        for one in (first, waiting[1], third):
            with pytest.raises(BusyError, match="is stopping"):
                await one
        held.set()

    asyncio.run(scenario())


def test_an_answer_that_comes_too_late_is_called_off(shop_tagger):
    async def scenario():
        work, held = Work(max_waiting=2, seconds=0.2), threading.Event()
        first = asyncio.create_task(work.do(lambda _: held.wait(10), gone=never))
        while not work.is_busy:
            await asyncio.sleep(0.001)
        with pytest.raises(BusyError, match=r"no answer within 0\.2 seconds"):
            await work.result_of(texts(shop_tagger, 1), gone=never)
        assert not work.n_waiting
        with pytest.raises(BusyError, match="no answer within"):
            await first
        held.set()
        work.stop()

    asyncio.run(scenario())
