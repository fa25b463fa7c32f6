"""Stage 1, files to `Dataset`: readers and writers, splits, and the embedded catalogue."""

from multitudes.data.catalogue import Catalogue, catalogue
from multitudes.data.dataset import Dataset
from multitudes.data.formats import FORMATS, ReadOptions, WriteOptions
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.read import read
from multitudes.data.report import ReadReport
from multitudes.data.splits import k_fold, split
from multitudes.data.write import write

__all__ = [
    "FORMATS",
    "Catalogue",
    "Dataset",
    "LabelSpace",
    "ReadOptions",
    "ReadReport",
    "WriteOptions",
    "catalogue",
    "k_fold",
    "read",
    "relabel",
    "split",
    "write",
]
