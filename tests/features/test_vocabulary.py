import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multitudes.features.vocabulary import Vocabulary, empty_table, grown, merged, sorted_order
from multitudes.kernels.text.terms import TermTable, insert_terms
from tests.kernels.twins import text as reference

terms = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))


def packed(strings):
    encoded = [string.encode() for string in strings]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8).copy(), ends


def table_of(strings, joined_words=False) -> tuple[TermTable, np.ndarray]:
    pool, ends = packed(strings)
    table = empty_table(len(strings) + 1, len(pool))
    ids = np.empty(len(strings), np.int32)
    insert_terms(table, pool, ends, joined_words, ids)
    return table, ids


@given(terms)
def test_sorted_order_is_code_point_order(strings):
    strings = list(dict.fromkeys(strings))
    pool, ends = packed(strings)
    order = sorted_order(pool, ends[:-1], ends[1:])
    assert [strings[i] for i in order] == sorted(strings)


def test_sorted_order_of_long_shared_beginnings():
    strings = ["a" * n + tail for n in range(40, 0, -1) for tail in ("", "b", "\x01", "ä")]
    strings = list(dict.fromkeys(strings))
    pool, ends = packed(strings)
    assert [strings[i] for i in sorted_order(pool, ends[:-1], ends[1:])] == sorted(strings)


@given(terms)
def test_insert_gives_equal_terms_one_id(strings):
    table, ids = table_of(strings)
    distinct = list(dict.fromkeys(strings))
    assert ids.tolist() == [distinct.index(string) for string in strings]
    assert int(table.size[0]) == len(distinct)


@given(terms, terms)
def test_merged_tables_agree_on_ids(first, second):
    tables = [table_of(first)[0], table_of(second)[0]]
    union, new_ids = merged(tables, joined_words=False)
    firsts, seconds = list(dict.fromkeys(first)), list(dict.fromkeys(second))
    every = list(dict.fromkeys(firsts + seconds))
    assert int(union.size[0]) == len(every)
    assert new_ids[0].tolist() == [every.index(term) for term in firsts]
    assert new_ids[1].tolist() == [every.index(term) for term in seconds]


def test_hashes_equal_the_twin():
    strings = ["a", "zwei Wörter", "one two three", "c++"]
    for joined_words in (True, False):
        table, _ = table_of(strings, joined_words)
        expected = [reference.term_hash(s.encode(), joined_words=joined_words) for s in strings]
        assert table.hashes[: len(strings)].tolist() == expected


def test_growing_keeps_ids():
    strings = [f"term {i}" for i in range(5000)]
    table, ids = table_of(strings)
    larger = grown(table, capacity=20_000)
    pool, ends = packed(strings)
    again = np.empty(len(strings), np.int32)
    insert_terms(larger, pool, ends, False, again)
    np.testing.assert_array_equal(again, ids)
    assert int(larger.size[0]) == 5000


def test_a_part_of_a_table_becomes_a_sorted_vocabulary():
    table, _ = table_of(["c", "a", "d", "b"])
    vocabulary, columns = Vocabulary.from_table(table, np.array([0, 2, 3]), joined_words=True)
    assert vocabulary.names == ["b", "c", "d"]
    assert columns.tolist() == [1, -1, 2, 0]
    assert Vocabulary.from_names(["b", "c", "d"], joined_words=True).names == vocabulary.names
