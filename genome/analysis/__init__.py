"""Pure analyses of the loop IR: affine forms, dependence on instances, footprints, effects, races."""
