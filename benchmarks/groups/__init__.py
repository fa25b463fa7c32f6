"""What imputing the labels of groups gains and costs, and when it helps at all."""
