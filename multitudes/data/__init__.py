"""Stage 1, files to `Dataset`: formats, splits, label spaces, and a generated catalogue."""

from multitudes.data.catalogue import Catalogue, make_catalogue
from multitudes.data.compression import encoding_checked, open_bytes, open_write
from multitudes.data.dataset import Dataset
from multitudes.data.formats import list_formats
from multitudes.data.formats.format import Format, label_rows
from multitudes.data.groups import GroupCounts, merge_labels, random_groups
from multitudes.data.groups.files import read_groups
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.lines import line_blocks
from multitudes.data.options import ReadOptions, WriteOptions
from multitudes.data.pieces import Pieces, PieceWriter, open_pieces, write_pieces
from multitudes.data.predictions.alignment import Aligned, align
from multitudes.data.predictions.files import PredictionFile, read_prediction_file
from multitudes.data.reading import read_dataset
from multitudes.data.records import Columns, Records
from multitudes.data.report import ErrorLog, ReadReport
from multitudes.data.splits import k_fold, split
from multitudes.data.vocabularies import Vocabulary, read_vocabulary
from multitudes.data.writing import write_dataset

__all__ = [
    "Aligned",
    "Catalogue",
    "Columns",
    "Dataset",
    "ErrorLog",
    "Format",
    "GroupCounts",
    "LabelNumbering",
    "LabelSpace",
    "PieceWriter",
    "Pieces",
    "PredictionFile",
    "ReadOptions",
    "ReadReport",
    "Records",
    "Vocabulary",
    "WriteOptions",
    "align",
    "encoding_checked",
    "k_fold",
    "label_rows",
    "line_blocks",
    "list_formats",
    "make_catalogue",
    "merge_labels",
    "open_bytes",
    "open_pieces",
    "open_write",
    "random_groups",
    "read_dataset",
    "read_groups",
    "read_prediction_file",
    "read_vocabulary",
    "relabel",
    "split",
    "write_dataset",
    "write_pieces",
]
