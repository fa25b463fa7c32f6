"""What a tagger says of itself: where it comes from, what it learned, what an update changed."""
