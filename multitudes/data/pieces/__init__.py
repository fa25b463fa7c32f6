"""Data sets too large for memory: a folder of arrays, written and read in pieces of instances."""

from multitudes.data.pieces.reading import Pieces, is_pieces, open_pieces
from multitudes.data.pieces.writing import PieceWriter, write_pieces

__all__ = ["PieceWriter", "Pieces", "is_pieces", "open_pieces", "write_pieces"]
