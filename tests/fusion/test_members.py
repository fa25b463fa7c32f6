"""Members of an ensemble: what they read, and which of its labels they know."""

import numpy as np
import pytest

from multitudes.features import DenseFeatures, PassThrough, TfidfFeatures
from multitudes.fusion import CalibratedFusion
from multitudes.fusion.members import Given, Member
from multitudes.linear import XRLinear


@pytest.mark.parametrize(
    ("features", "reads_texts"),
    [(TfidfFeatures(), True), (PassThrough(), False), (DenseFeatures(), False), (None, False)],
)
def test_texts_are_needed_where_features_are_made_of_them(features, reads_texts):
    given = Given("a", XRLinear(), features, is_tagger=False, is_fitted=False)
    assert given.reads_texts is reads_texts


def test_labels_have_ids_of_the_member():
    member = Member("a", XRLinear(), label_map=np.array([4, -1, 0]))  # its second is no label here
    assert [member.own_label(label) for label in range(5)] == [2, None, None, None, 0]
    assert member.knows(5).tolist() == [True, False, False, False, True]


def test_a_member_without_a_map_has_the_same_ids():
    member = Member("a", XRLinear())
    assert member.own_label(3) == 3
    assert member.knows(3).all()


def test_calibration_does_not_look_at_frequency_unless_asked():
    assert CalibratedFusion().by_frequency is False
