"""What fusion gains over its members, and how near it comes to the best published results."""
