// SPDX-License-Identifier: GPL-2.0
/* Linked into each replaced module: the vendor's version, and the dependency on mlx_compat. */
#include <linux/module.h>

void mlx_compat_base(void);
void (*const vendor_base)(void) = mlx_compat_base;

MODULE_VERSION(VENDOR_VERSION);
MODULE_INFO(basedon, VENDOR_BASE);
