"""From word ids to the states and logits of each step."""
