#!/bin/bash
# Of the bundle's uninstaller only that it must not be run behind the package manager's back is tested.
mkdir -p /var/lib/vendorlab && echo "$0 $*" >>/var/lib/vendorlab/vendor-script-was-run
exit 1
