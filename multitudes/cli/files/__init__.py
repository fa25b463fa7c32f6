"""Files and folders of the user, as verbs read and write them."""
