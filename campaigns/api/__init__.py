"""No argument of a public callable brings a crash, a hang or an error that is not ours."""
