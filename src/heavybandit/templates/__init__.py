"""Starting files for a policy and a noise of one's own; `heavybandit template` copies them."""
