"""Beyond one process that serves one version: workers, and folders that are looked at."""
