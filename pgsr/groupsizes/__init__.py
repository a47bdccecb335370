"""Group sizes: how many units (households, planes, taxis) of each size, in every region of a tree."""
