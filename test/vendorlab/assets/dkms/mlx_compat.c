// SPDX-License-Identifier: GPL-2.0
/*
 * The base of the vendor's modules: the others take a symbol of it, so that it is loaded before them and
 * "depends" of modinfo names it, as with the vendor's own.
 */
#include <linux/module.h>

void mlx_compat_base(void);

void mlx_compat_base(void)
{
}
EXPORT_SYMBOL_GPL(mlx_compat_base);

MODULE_DESCRIPTION("Base of the test vendor's kernel modules");
MODULE_LICENSE("GPL");
MODULE_VERSION(VENDOR_VERSION);
MODULE_INFO(basedon, VENDOR_BASE);
