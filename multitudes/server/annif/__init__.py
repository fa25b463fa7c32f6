"""What Annif's REST API needs beside the rest of the server: its messages, errors and subjects."""
