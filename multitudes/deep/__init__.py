"""The torch layer. Import it before torch: it keeps torch off instructions that fail here."""

from multitudes.deep.processor import prepare

prepare()
