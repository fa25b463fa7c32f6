"""Operations that must be fast on a GPU: a plain form and a kernel each, and one switch."""
