package main

import (
	"errors"

	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/spf13/pflag"
)

// moduleKeyOptions name the key that modules built by DKMS are signed with.
type moduleKeyOptions struct{ key, certificate string }

func (o *moduleKeyOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.key, "module-key", "", "private key `FILE` (PEM) that DKMS signs new modules with; it does not stay in an image")
	f.StringVar(&o.certificate, "module-cert", "", "certificate `FILE` (DER or PEM) of --module-key, which hosts with Secure Boot have enrolled")
}

// options are what a run is told of the key.
func (o moduleKeyOptions) options(supply supplyOptions, into *install.Options) error {
	if o.key == "" && o.certificate == "" {
		return nil
	}
	if o.key == "" || o.certificate == "" {
		return fault.New(fault.Usage, "usage", "give both", "cannot sign modules: --module-key and --module-cert belong together")
	}
	key, err := supply.place(o.key)
	if err != nil {
		return err
	}
	certificate, err := supply.place(o.certificate)
	if err != nil {
		return err
	}
	into.ModuleKey = &install.ModuleKey{Key: key, Certificate: certificate}
	if err := into.ModuleKey.Check(); err != nil {
		var f *fault.Error
		if errors.As(err, &f) {
			return fault.New(fault.Usage, f.Code, f.Hint, "%w", err)
		}
		return err
	}
	return nil
}
