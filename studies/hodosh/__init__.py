"""Printed tables computed again from the published judgments: Hodosh et al. 2013."""
