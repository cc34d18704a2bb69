# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What all questions of bench/run share."""
