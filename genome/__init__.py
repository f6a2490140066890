"""Pure kernel representation: specs, genomes, source transforms. No device, no database, no clock."""
