"""Which model for which data: the linear models side by side, and the tables of the page."""
