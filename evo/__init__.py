"""Campaigns, coordination, selection and reports."""
