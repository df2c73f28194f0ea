"""Files to start a policy, a noise or a world from; `heavybandit template` copies them."""
