"""Parts of the verb train: what is held out, help about models, and what came of it."""
