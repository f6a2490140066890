"""What a campaign leaves in its output folder, and pages about a kernel."""
