"""RowCache: rows of large tables in the host's memory, those in use copied to the device.

A row comes to the device when a batch that needs it is made ahead, stays there as long as a batch
that is under way needs it, and is written back afterwards. So every step finds the rows as the step
before left them, however far ahead batches are made.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from multitudes.types import IntArray


@dataclass(frozen=True)
class Loaded:
    """Rows on their way to the device.

    Parameters
    ----------
    slots : int64 array (m,)
        Where each row is, or will be, on the device.
    fresh : int64 tensor (k,)
        The slots of those that were not there yet.
    values : tensors (k, ...) by name
        What is to be put there.
    arrived : CUDA event, or None
        When these have been copied.
    """

    slots: IntArray
    fresh: Tensor
    values: Mapping[str, Tensor]
    arrived: Any


class RowCache:
    """Keeps the rows of some tables on a device while they are in use.

    Batches are loaded in one thread, ahead of time and in order; the other methods are called by
    the thread that trains.

    Parameters
    ----------
    host : tensors (n, ...) by name
        The tables, in the host's memory. Their rows are up to date after `settle`.
    resident : tensors (capacity, ...) by name
        Where rows are kept on the device; they have room for all batches that are under way.
    """

    def __init__(self, host: Mapping[str, Tensor], resident: Mapping[str, Tensor]) -> None:
        self.host, self.resident = host, resident
        some = next(iter(resident.values()))
        self.capacity, self.device = len(some), some.device
        self._changed = threading.Condition()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="label rows")
        self._stream: Any = None
        if self.device.type == "cuda":
            self._stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        n_rows = len(next(iter(host.values())))
        self._slot_of: npt.NDArray[np.int32] = np.full(n_rows, -1, np.int32)
        self._error: BaseException | None = None  # that ended the writing
        self._clear()

    def _clear(self) -> None:
        self._row_of: IntArray = np.full(self.capacity, -1, np.int64)
        self._uses: IntArray = np.zeros(self.capacity, np.int64)  # batches that need a slot
        self._leaves: IntArray = np.zeros(self.capacity, np.int64)  # how often it was written back
        self._is_filled: npt.NDArray[np.bool_] = np.zeros(self.capacity, bool)
        self._free: IntArray = np.arange(self.capacity, dtype=np.int64)

    # ------------------------------------------------------------------ a batch, in order

    def load(self, rows: IntArray) -> Loaded:
        """Begin to bring distinct rows (m,) to the device; waits if there is no room for them."""
        with self._changed:
            slots = self._slot_of[rows].astype(np.int64)  # (m,)
            missing = slots < 0
            self._uses[slots[~missing]] += 1
            n_missing = int(missing.sum())
            self._changed.wait_for(lambda: len(self._free) >= n_missing or self._error is not None)
            self._check_writer()
            taken, self._free = self._free[:n_missing], self._free[n_missing:]
            self._slot_of[rows[missing]], self._row_of[taken] = taken, rows[missing]
            self._uses[taken], slots[missing] = 1, taken
        # A row without a slot has been written back: the table has its latest values.
        wanted = torch.from_numpy(rows[missing])
        with torch.cuda.stream(self._stream):
            values = {name: self._sent(self._picked(t, wanted)) for name, t in self.host.items()}
            fresh = self._sent(torch.from_numpy(taken))
            arrived = None if self._stream is None else self._stream.record_event()
        return Loaded(slots, fresh, values, arrived)

    def insert(self, loaded: Loaded) -> None:
        """Put rows in their slots, once the step that needs them begins."""
        if loaded.arrived is not None:
            current = torch.cuda.current_stream(self.device)
            current.wait_event(loaded.arrived)
            for tensor in (loaded.fresh, *loaded.values.values()):
                tensor.record_stream(current)
        with torch.no_grad():
            for name, values in loaded.values.items():
                self.resident[name].index_copy_(0, loaded.fresh, values)
        with self._changed:
            self._is_filled[loaded.slots] = True

    def release(self, loaded: Loaded) -> None:
        """Let rows go whose step is over; what no other batch needs is written back meanwhile."""
        with self._changed:
            self._check_writer()
            self._uses[loaded.slots] -= 1
            slots = loaded.slots[self._uses[loaded.slots] == 0]  # (k,)
            self._leaves[slots] += 1
            rows, times = self._row_of[slots], self._leaves[slots]
        values, arrived = self._fetched(slots)
        self._writer.submit(self._write, slots, rows, times, values, arrived)

    def _check_writer(self) -> None:
        if self._error is not None:
            raise self._error

    def _write(
        self, slots: IntArray, rows: IntArray, times: IntArray, values: Any, arrived: Any
    ) -> None:
        try:
            if arrived is not None:
                arrived.synchronize()
            self._put(rows, values)
        except BaseException as error:  # noqa: BLE001 (handed to the thread that trains)
            with self._changed:
                self._error = error
                self._changed.notify_all()
            return
        with self._changed:
            # A batch may have asked for a row again: then it stays, and is written another time.
            left = (self._uses[slots] == 0) & (self._leaves[slots] == times)
            gone = slots[left]
            self._slot_of[rows[left]], self._row_of[gone] = -1, -1
            self._is_filled[gone] = False
            self._free = np.concatenate([self._free, gone])
            self._changed.notify_all()

    # ------------------------------------------------------------------ between batches

    def settle(self) -> None:
        """Bring the tables up to date; rows stay on the device."""
        self._writer.submit(lambda: None).result()
        self._check_writer()
        slots = np.flatnonzero(self._is_filled)
        values, arrived = self._fetched(slots)
        if arrived is not None:
            arrived.synchronize()
        self._put(self._row_of[slots], values)

    def reset(self) -> None:
        """Bring the tables up to date and forget the device's rows; no batch may be under way."""
        self.settle()
        self.forget()

    def forget(self) -> None:
        """Forget the device's rows, changes included: the tables have other values now."""
        self._writer.submit(lambda: None).result()
        used = self._row_of[self._row_of >= 0]
        self._slot_of[used] = -1
        self._clear()

    # ------------------------------------------------------------------ copies

    def _picked(self, table: Tensor, rows: Tensor) -> Tensor:
        """Rows (k,) of a table, in memory that a GPU reads while others work."""
        shape, on_gpu = (len(rows), *table.shape[1:]), self._stream is not None
        out = torch.empty(shape, dtype=table.dtype, pin_memory=on_gpu)
        return torch.index_select(table, 0, rows, out=out)

    def _sent(self, values: Tensor) -> Tensor:
        if self._stream is None:
            return values
        pinned = values if values.is_pinned() else values.pin_memory()
        return pinned.to(self.device, non_blocking=True)

    @torch.no_grad()
    def _fetched(self, slots: IntArray) -> tuple[dict[str, Tensor], Any]:
        """Values (k, ...) of slots (k,), in the host's memory when the event has happened."""
        where = self._sent(torch.from_numpy(slots))
        picked = {name: table[where] for name, table in self.resident.items()}  # (k, ...)
        if self._stream is None:
            return picked, None
        values = {name: value.to("cpu", non_blocking=True) for name, value in picked.items()}
        return values, torch.cuda.current_stream(self.device).record_event()

    @torch.no_grad()
    def _put(self, rows: IntArray, values: Mapping[str, Tensor]) -> None:
        where = torch.from_numpy(rows)
        for name, value in values.items():
            self.host[name].index_copy_(0, where, value)
