"""Training losses over the steps of a decoder, one file each."""

from multitudes.seq2set.losses.sequence import sequence_loss
from multitudes.seq2set.losses.set_generation import set_generation_loss
from multitudes.seq2set.losses.set_matching import set_matching_loss
from multitudes.seq2set.losses.transport import transport_loss

__all__ = ["sequence_loss", "set_generation_loss", "set_matching_loss", "transport_loss"]
