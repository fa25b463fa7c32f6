"""Stage 1, files to `Dataset`: readers and writers, splits, and the embedded catalogue."""

from multitudes.data.alignment import Aligned, align
from multitudes.data.catalogue import Catalogue, catalogue
from multitudes.data.dataset import Dataset
from multitudes.data.formats import FORMATS, ReadOptions, WriteOptions
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.prediction_files import PredictionFile, read_prediction_file
from multitudes.data.read import read
from multitudes.data.report import ReadReport
from multitudes.data.splits import k_fold, split
from multitudes.data.write import write

__all__ = [
    "FORMATS",
    "Aligned",
    "Catalogue",
    "Dataset",
    "LabelSpace",
    "PredictionFile",
    "ReadOptions",
    "ReadReport",
    "WriteOptions",
    "align",
    "catalogue",
    "k_fold",
    "read",
    "read_prediction_file",
    "relabel",
    "split",
    "write",
]
