// Code generated from ids.yaml by RDMACTL_UPDATE=1 go test; DO NOT EDIT.

package pciid

func byID(vendor, device string) (Function, bool) {
	switch vendor {
	case "15b3":
		switch device {
		case "6340":
			return Function{Vendor: "15b3", Device: device, Name: "MT25408A0-FCC-SI ConnectX, Dual Port 10Gb/s InfiniBand / 10GigE Adapter IC with PCIe 2.0 x8 2.5GT/s Interface", Role: "nic", Generations: []string{"connectx-1"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "634a":
			return Function{Vendor: "15b3", Device: device, Name: "MT25408 ConnectX, 2-port IB DDR/10GigE, PCIe 2.0 2.5GT/s", Role: "nic", Generations: []string{"connectx-1"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "6354":
			return Function{Vendor: "15b3", Device: device, Name: "MT25408 ConnectX IB QDR", Role: "nic", Generations: []string{"connectx-1"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "6732":
			return Function{Vendor: "15b3", Device: device, Name: "MT25408 ConnectX, 2-port IB DDR/10GigE, PCIe 2.0 5GT/s", Role: "nic", Generations: []string{"connectx-1", "connectx-2"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "673c":
			return Function{Vendor: "15b3", Device: device, Name: "MT26428 [ConnectX VPI PCIe 2.0 5GT/s - IB QDR / 10GigE]", Role: "nic", Generations: []string{"connectx-1", "connectx-2"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "6368":
			return Function{Vendor: "15b3", Device: device, Name: "MT25448 ConnectX EN 10GigE, PCIe 2.0 2.5GT/s", Role: "nic", Generations: []string{"connectx-1"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "6372":
			return Function{Vendor: "15b3", Device: device, Name: "MT25458 ConnectX EN 10GBASE-T, PCIe 2.5GT/s", Role: "nic", Generations: []string{"connectx-1"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "6746":
			return Function{Vendor: "15b3", Device: device, Name: "MT26438 ConnectX VPI IB QDR/10GigE Virtualization+, PCIe 2.0 5GT/s", Role: "nic", Generations: []string{"connectx-2"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "6750":
			return Function{Vendor: "15b3", Device: device, Name: "MT26448 [ConnectX EN 10GigE, PCIe 2.0 5GT/s]", Role: "nic", Generations: []string{"connectx-2"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "675a":
			return Function{Vendor: "15b3", Device: device, Name: "MT26458 ConnectX EN 10GBASE-T, PCIe Gen2 5GT/s", Role: "nic", Generations: []string{"connectx-2"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "6764":
			return Function{Vendor: "15b3", Device: device, Name: "MT26468 ConnectX EN 10GigE Virtualization+, PCIe 2.0 5GT/s", Role: "nic", Generations: []string{"connectx-2"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "676e":
			return Function{Vendor: "15b3", Device: device, Name: "MT26478 ConnectX EN 40GigE, PCIe 2.0 5GT/s", Role: "nic", Generations: []string{"connectx-2"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "6778":
			return Function{Vendor: "15b3", Device: device, Name: "MT26488 ConnectX VPI IB DDR/10GigE Virtualization+", Role: "nic", Generations: []string{"connectx-2"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 2, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "1002":
			return Function{Vendor: "15b3", Device: device, Name: "MT25400 Family [ConnectX-2 Virtual Function]", Role: "nic", Generations: []string{"connectx-2"}, VF: true, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 0, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "1003":
			return Function{Vendor: "15b3", Device: device, Name: "MT27500 Family [ConnectX-3]", Role: "nic", Generations: []string{"connectx-3"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 3, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "1004":
			return Function{Vendor: "15b3", Device: device, Name: "MT27500/MT27520 Family [ConnectX-3/ConnectX-3 Pro Virtual Function]", Role: "nic", Generations: []string{"connectx-3", "connectx-3-pro"}, VF: true, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 0, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "1007":
			return Function{Vendor: "15b3", Device: device, Name: "MT27520 Family [ConnectX-3 Pro]", Role: "nic", Generations: []string{"connectx-3-pro"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 0, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "1005", "1006", "1008", "1009", "100a", "100b", "100c", "100d", "100e", "100f", "1010":
			return Function{Vendor: "15b3", Device: device, Name: "mlx4 family, reserved id", Role: "nic", Generations: []string{"connectx-3", "connectx-3-pro"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx4_core", RDMADriver: "mlx4_ib", Provider: "mlx4"}, true
		case "1011":
			return Function{Vendor: "15b3", Device: device, Name: "MT27600 [Connect-IB]", Role: "nic", Generations: []string{"connect-ib"}, VF: false, LinkLayers: []string{"infiniband"}, PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1012":
			return Function{Vendor: "15b3", Device: device, Name: "MT27600 Family [Connect-IB Virtual Function]", Role: "nic", Generations: []string{"connect-ib"}, VF: true, LinkLayers: []string{"infiniband"}, PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1013":
			return Function{Vendor: "15b3", Device: device, Name: "MT27700 Family [ConnectX-4]", Role: "nic", Generations: []string{"connectx-4"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1014":
			return Function{Vendor: "15b3", Device: device, Name: "MT27700 Family [ConnectX-4 Virtual Function]", Role: "nic", Generations: []string{"connectx-4"}, VF: true, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1015":
			return Function{Vendor: "15b3", Device: device, Name: "MT27710 Family [ConnectX-4 Lx]", Role: "nic", Generations: []string{"connectx-4-lx"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1016":
			return Function{Vendor: "15b3", Device: device, Name: "MT27710 Family [ConnectX-4 Lx Virtual Function]", Role: "nic", Generations: []string{"connectx-4-lx"}, VF: true, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1017":
			return Function{Vendor: "15b3", Device: device, Name: "MT27800 Family [ConnectX-5]", Role: "nic", Generations: []string{"connectx-5"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 3, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1018":
			return Function{Vendor: "15b3", Device: device, Name: "MT27800 Family [ConnectX-5 Virtual Function]", Role: "nic", Generations: []string{"connectx-5"}, VF: true, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1019":
			return Function{Vendor: "15b3", Device: device, Name: "MT28800 Family [ConnectX-5 Ex]", Role: "nic", Generations: []string{"connectx-5-ex"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 4, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "101a":
			return Function{Vendor: "15b3", Device: device, Name: "MT28800 Family [ConnectX-5 Ex Virtual Function]", Role: "nic", Generations: []string{"connectx-5-ex"}, VF: true, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "101b":
			return Function{Vendor: "15b3", Device: device, Name: "MT28908 Family [ConnectX-6]", Role: "nic", Generations: []string{"connectx-6"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 4, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "101c":
			return Function{Vendor: "15b3", Device: device, Name: "MT28908 Family [ConnectX-6 Virtual Function]", Role: "nic", Generations: []string{"connectx-6"}, VF: true, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "101d":
			return Function{Vendor: "15b3", Device: device, Name: "MT2892 Family [ConnectX-6 Dx]", Role: "nic", Generations: []string{"connectx-6-dx"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 4, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "101e":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX Family mlx5Gen Virtual Function", Role: "nic", Generations: []string{"connectx-6-dx", "connectx-6-lx", "connectx-7", "connectx-8", "connectx-9", "connectx-10", "bluefield-2", "bluefield-3", "bluefield-4"}, VF: true, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "101f":
			return Function{Vendor: "15b3", Device: device, Name: "MT2894 Family [ConnectX-6 Lx]", Role: "nic", Generations: []string{"connectx-6-lx"}, VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 4, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1021":
			return Function{Vendor: "15b3", Device: device, Name: "MT2910 Family [ConnectX-7]", Role: "nic", Generations: []string{"connectx-7"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 5, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1023":
			return Function{Vendor: "15b3", Device: device, Name: "CX8 Family [ConnectX-8]", Role: "nic", Generations: []string{"connectx-8"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 6, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1025":
			return Function{Vendor: "15b3", Device: device, Name: "CX9 Family [ConnectX-9]", Role: "nic", Generations: []string{"connectx-9"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "1027":
			return Function{Vendor: "15b3", Device: device, Name: "CX10 Family [ConnectX-10]", Role: "nic", Generations: []string{"connectx-10"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "2101":
			return Function{Vendor: "15b3", Device: device, Name: "CX10 Family [ConnectX-10 NVLink-C2C]", Role: "nic", Generations: []string{"connectx-10"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "a2d2":
			return Function{Vendor: "15b3", Device: device, Name: "MT416842 BlueField integrated ConnectX-5 network controller", Role: "nic", Generations: []string{"bluefield-1"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "a2d3":
			return Function{Vendor: "15b3", Device: device, Name: "MT416842 BlueField multicore SoC family VF", Role: "nic", Generations: []string{"bluefield-1"}, VF: true, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "a2d6":
			return Function{Vendor: "15b3", Device: device, Name: "MT42822 BlueField-2 integrated ConnectX-6 Dx network controller", Role: "nic", Generations: []string{"bluefield-2"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 4, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "a2dc":
			return Function{Vendor: "15b3", Device: device, Name: "MT43244 BlueField-3 integrated ConnectX-7 network controller", Role: "nic", Generations: []string{"bluefield-3"}, VF: false, LinkLayers: []string{"infiniband", "ethernet"}, PCIeGeneration: 5, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "a2d9":
			return Function{Vendor: "15b3", Device: device, Name: "MT43162 BlueField-3 Lx integrated ConnectX-7 network controller", Role: "nic", Generations: []string{"bluefield-3-lx"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "a2df":
			return Function{Vendor: "15b3", Device: device, Name: "BF4 Family integrated network controller [BlueField-4 integrated network controller]", Role: "nic", Generations: []string{"bluefield-4"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "mlx5_core", RDMADriver: "mlx5_ib", Provider: "mlx5"}, true
		case "2100":
			return Function{Vendor: "15b3", Device: device, Name: "CX8 Family Data Direct Interface", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "1024":
			return Function{Vendor: "15b3", Device: device, Name: "CX8 PCIe Switch", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "1028":
			return Function{Vendor: "15b3", Device: device, Name: "CX10 Trusted Network Control Memory", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "2300":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX/BlueField Hardware Performance Monitors (HWPM)", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "c2d2":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField SoC management interface", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "c2d1":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField DPU Auxiliary Communication Channel", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "1974", "1975", "1976", "1977", "1978", "1979", "197a", "197b", "197c", "197d", "197e", "197f":
			return Function{Vendor: "15b3", Device: device, Name: "pcie_bridge", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "2020", "2021", "2023", "2024", "2025":
			return Function{Vendor: "15b3", Device: device, Name: "emulated_pcie_bridge", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "a2d0", "a2d1", "a2d4", "a2d5", "a2d7", "a2d8", "a2da", "a2db", "a2dd", "a2de":
			return Function{Vendor: "15b3", Device: device, Name: "bluefield_soc", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "6001":
			return Function{Vendor: "15b3", Device: device, Name: "NVMe SNAP Controller", Role: "auxiliary", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0191":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX flash recovery", Role: "flash-recovery", Generations: []string{"connectx-1"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "01f6":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-3 flash recovery", Role: "flash-recovery", Generations: []string{"connectx-3"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "01f8":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-3 Pro flash recovery", Role: "flash-recovery", Generations: []string{"connectx-3-pro"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "01ff":
			return Function{Vendor: "15b3", Device: device, Name: "Connect-IB flash recovery", Role: "flash-recovery", Generations: []string{"connect-ib"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0209":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-4 flash recovery", Role: "flash-recovery", Generations: []string{"connectx-4"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "020b":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-4 Lx flash recovery", Role: "flash-recovery", Generations: []string{"connectx-4-lx"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "020d":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-5 flash recovery", Role: "flash-recovery", Generations: []string{"connectx-5"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "020f":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-6 flash recovery", Role: "flash-recovery", Generations: []string{"connectx-6"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0210":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-6 secure flash recovery", Role: "flash-recovery", Generations: []string{"connectx-6"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0211":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-1"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0212":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-6 Dx flash recovery", Role: "flash-recovery", Generations: []string{"connectx-6-dx"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0213":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-6 Dx secure flash recovery", Role: "flash-recovery", Generations: []string{"connectx-6-dx"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0214":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField-2 flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-2"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0215":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField-2 secure flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-2"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0216":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-6 Lx flash recovery", Role: "flash-recovery", Generations: []string{"connectx-6-lx"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0217":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-6 Lx secure flash recovery", Role: "flash-recovery", Generations: []string{"connectx-6-lx"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0218":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-7 flash recovery", Role: "flash-recovery", Generations: []string{"connectx-7"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0219":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-7 secure flash recovery", Role: "flash-recovery", Generations: []string{"connectx-7"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "021a":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField-3 Lx flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-3-lx"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "021b":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField-3 Lx secure flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-3-lx"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "021c":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField-3 flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-3"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "021d":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField-3 secure flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-3"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "021e":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-8 flash recovery", Role: "flash-recovery", Generations: []string{"connectx-8"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "021f":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-8 secure flash recovery", Role: "flash-recovery", Generations: []string{"connectx-8"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0220":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField-4 flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-4"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0221":
			return Function{Vendor: "15b3", Device: device, Name: "BlueField-4 secure flash recovery", Role: "flash-recovery", Generations: []string{"bluefield-4"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0224":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-9 flash recovery", Role: "flash-recovery", Generations: []string{"connectx-9"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0225":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-9 secure/RMA flash recovery", Role: "flash-recovery", Generations: []string{"connectx-9"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0226":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-10 flash recovery", Role: "flash-recovery", Generations: []string{"connectx-10"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		case "0227":
			return Function{Vendor: "15b3", Device: device, Name: "ConnectX-10 RMA flash recovery", Role: "flash-recovery", Generations: []string{"connectx-10"}, VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "", RDMADriver: "", Provider: ""}, true
		}
	case "1d0f":
		switch device {
		case "efa0", "efa1", "efa2", "efa3":
			return Function{Vendor: "1d0f", Device: device, Name: "Elastic Fabric Adapter (EFA)", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "efa", RDMADriver: "efa", Provider: "efa"}, true
		}
	case "14e4":
		switch device {
		case "16d6", "16d7", "16d8", "16d9", "16e2", "16e3":
			return Function{Vendor: "14e4", Device: device, Name: "BCM574xx NetXtreme-E", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "bnxt_en", RDMADriver: "bnxt_re", Provider: "bnxt_re"}, true
		case "16dc":
			return Function{Vendor: "14e4", Device: device, Name: "NetXtreme-E virtual function", Role: "nic", Generations: []string(nil), VF: true, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "bnxt_en", RDMADriver: "bnxt_re", Provider: "bnxt_re"}, true
		case "1750", "1751", "1752":
			return Function{Vendor: "14e4", Device: device, Name: "BCM575xx NetXtreme-E", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "bnxt_en", RDMADriver: "bnxt_re", Provider: "bnxt_re"}, true
		case "1806", "1807":
			return Function{Vendor: "14e4", Device: device, Name: "BCM575xx virtual function", Role: "nic", Generations: []string(nil), VF: true, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "bnxt_en", RDMADriver: "bnxt_re", Provider: "bnxt_re"}, true
		case "1760":
			return Function{Vendor: "14e4", Device: device, Name: "BCM57608", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "bnxt_en", RDMADriver: "bnxt_re", Provider: "bnxt_re"}, true
		}
	case "8086":
		switch device {
		case "1591", "1592", "1593", "1599", "159a", "159b":
			return Function{Vendor: "8086", Device: device, Name: "Ethernet Controller E810", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "ice", RDMADriver: "irdma", Provider: "irdma"}, true
		case "37ce", "37cf", "37d0", "37d1", "37d2", "37d3":
			return Function{Vendor: "8086", Device: device, Name: "Ethernet Connection X722", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "i40e", RDMADriver: "irdma", Provider: "irdma"}, true
		case "24f0", "24f1":
			return Function{Vendor: "8086", Device: device, Name: "Omni-Path HFI Silicon 100 Series", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string(nil), PCIeGeneration: 0, Driver: "hfi1", RDMADriver: "hfi1", Provider: "hfi1verbs"}, true
		}
	case "1414":
		switch device {
		case "00ba":
			return Function{Vendor: "1414", Device: device, Name: "Microsoft Azure Network Adapter VF", Role: "nic", Generations: []string(nil), VF: true, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "mana", RDMADriver: "mana_ib", Provider: "mana"}, true
		}
	case "1077":
		switch device {
		case "1634", "1644", "1654", "1656", "1666", "8070":
			return Function{Vendor: "1077", Device: device, Name: "FastLinQ QL45000/QL41000", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "qede", RDMADriver: "qedr", Provider: "qedr"}, true
		case "1664", "8090":
			return Function{Vendor: "1077", Device: device, Name: "FastLinQ virtual function", Role: "nic", Generations: []string(nil), VF: true, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "qede", RDMADriver: "qedr", Provider: "qedr"}, true
		}
	case "19e5":
		switch device {
		case "a222", "a223", "a224", "a225", "a226", "a228":
			return Function{Vendor: "19e5", Device: device, Name: "HNS RDMA network controller", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "hns3", RDMADriver: "hns_roce_hw_v2", Provider: "hns"}, true
		}
	case "1ded":
		switch device {
		case "107f":
			return Function{Vendor: "1ded", Device: device, Name: "Elastic RDMA adapter", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "erdma", RDMADriver: "erdma", Provider: "erdma"}, true
		}
	case "15ad":
		switch device {
		case "0820":
			return Function{Vendor: "15ad", Device: device, Name: "Paravirtual RDMA controller", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "vmw_pvrdma", RDMADriver: "vmw_pvrdma", Provider: "vmw_pvrdma"}, true
		}
	case "1425":
		switch device {
		case "5401", "5402", "5403", "540d", "5410", "5411", "6401", "6403", "6407", "640d", "6411":
			return Function{Vendor: "1425", Device: device, Name: "Terminator 5/6 unified wire adapter", Role: "nic", Generations: []string(nil), VF: false, LinkLayers: []string{"ethernet"}, PCIeGeneration: 0, Driver: "cxgb4", RDMADriver: "iw_cxgb4", Provider: "cxgb4"}, true
		}
	}
	return Function{}, false
}

func byName(key string) (string, bool) {
	switch key {
	case "1414 microsoft azure network adapter vf":
		return "00ba", true
	case "14e4 bcm57608":
		return "1760", true
	case "14e4 netxtreme-e virtual function":
		return "16dc", true
	case "15ad paravirtual rdma controller":
		return "0820", true
	case "15b3 bf4 family integrated network controller [bluefield-4 integrated network controller]":
		return "a2df", true
	case "15b3 bluefield dpu auxiliary communication channel":
		return "c2d1", true
	case "15b3 bluefield flash recovery":
		return "0211", true
	case "15b3 bluefield soc management interface":
		return "c2d2", true
	case "15b3 bluefield-2 flash recovery":
		return "0214", true
	case "15b3 bluefield-2 secure flash recovery":
		return "0215", true
	case "15b3 bluefield-3 flash recovery":
		return "021c", true
	case "15b3 bluefield-3 lx flash recovery":
		return "021a", true
	case "15b3 bluefield-3 lx secure flash recovery":
		return "021b", true
	case "15b3 bluefield-3 secure flash recovery":
		return "021d", true
	case "15b3 bluefield-4 flash recovery":
		return "0220", true
	case "15b3 bluefield-4 secure flash recovery":
		return "0221", true
	case "15b3 connect-ib flash recovery":
		return "01ff", true
	case "15b3 connectx family mlx5gen virtual function":
		return "101e", true
	case "15b3 connectx flash recovery":
		return "0191", true
	case "15b3 connectx-10 flash recovery":
		return "0226", true
	case "15b3 connectx-10 rma flash recovery":
		return "0227", true
	case "15b3 connectx-3 flash recovery":
		return "01f6", true
	case "15b3 connectx-3 pro flash recovery":
		return "01f8", true
	case "15b3 connectx-4 flash recovery":
		return "0209", true
	case "15b3 connectx-4 lx flash recovery":
		return "020b", true
	case "15b3 connectx-5 flash recovery":
		return "020d", true
	case "15b3 connectx-6 dx flash recovery":
		return "0212", true
	case "15b3 connectx-6 dx secure flash recovery":
		return "0213", true
	case "15b3 connectx-6 flash recovery":
		return "020f", true
	case "15b3 connectx-6 lx flash recovery":
		return "0216", true
	case "15b3 connectx-6 lx secure flash recovery":
		return "0217", true
	case "15b3 connectx-6 secure flash recovery":
		return "0210", true
	case "15b3 connectx-7 flash recovery":
		return "0218", true
	case "15b3 connectx-7 secure flash recovery":
		return "0219", true
	case "15b3 connectx-8 flash recovery":
		return "021e", true
	case "15b3 connectx-8 secure flash recovery":
		return "021f", true
	case "15b3 connectx-9 flash recovery":
		return "0224", true
	case "15b3 connectx-9 secure/rma flash recovery":
		return "0225", true
	case "15b3 connectx/bluefield hardware performance monitors (hwpm)":
		return "2300", true
	case "15b3 cx10 family [connectx-10 nvlink-c2c]":
		return "2101", true
	case "15b3 cx10 family [connectx-10]":
		return "1027", true
	case "15b3 cx10 trusted network control memory":
		return "1028", true
	case "15b3 cx8 family [connectx-8]":
		return "1023", true
	case "15b3 cx8 family data direct interface":
		return "2100", true
	case "15b3 cx8 pcie switch":
		return "1024", true
	case "15b3 cx9 family [connectx-9]":
		return "1025", true
	case "15b3 mt25400 family [connectx-2 virtual function]":
		return "1002", true
	case "15b3 mt25408 connectx ib qdr":
		return "6354", true
	case "15b3 mt25408 connectx, 2-port ib ddr/10gige, pcie 2.0 2.5gt/s":
		return "634a", true
	case "15b3 mt25408 connectx, 2-port ib ddr/10gige, pcie 2.0 5gt/s":
		return "6732", true
	case "15b3 mt25408a0-fcc-si connectx, dual port 10gb/s infiniband / 10gige adapter ic with pcie 2.0 x8 2.5gt/s interface":
		return "6340", true
	case "15b3 mt25448 connectx en 10gige, pcie 2.0 2.5gt/s":
		return "6368", true
	case "15b3 mt25458 connectx en 10gbase-t, pcie 2.5gt/s":
		return "6372", true
	case "15b3 mt26428 [connectx vpi pcie 2.0 5gt/s - ib qdr / 10gige]":
		return "673c", true
	case "15b3 mt26438 connectx vpi ib qdr/10gige virtualization+, pcie 2.0 5gt/s":
		return "6746", true
	case "15b3 mt26448 [connectx en 10gige, pcie 2.0 5gt/s]":
		return "6750", true
	case "15b3 mt26458 connectx en 10gbase-t, pcie gen2 5gt/s":
		return "675a", true
	case "15b3 mt26468 connectx en 10gige virtualization+, pcie 2.0 5gt/s":
		return "6764", true
	case "15b3 mt26478 connectx en 40gige, pcie 2.0 5gt/s":
		return "676e", true
	case "15b3 mt26488 connectx vpi ib ddr/10gige virtualization+":
		return "6778", true
	case "15b3 mt27500 family [connectx-3]":
		return "1003", true
	case "15b3 mt27500/mt27520 family [connectx-3/connectx-3 pro virtual function]":
		return "1004", true
	case "15b3 mt27520 family [connectx-3 pro]":
		return "1007", true
	case "15b3 mt27600 [connect-ib]":
		return "1011", true
	case "15b3 mt27600 family [connect-ib virtual function]":
		return "1012", true
	case "15b3 mt27700 family [connectx-4 virtual function]":
		return "1014", true
	case "15b3 mt27700 family [connectx-4]":
		return "1013", true
	case "15b3 mt27710 family [connectx-4 lx virtual function]":
		return "1016", true
	case "15b3 mt27710 family [connectx-4 lx]":
		return "1015", true
	case "15b3 mt27800 family [connectx-5 virtual function]":
		return "1018", true
	case "15b3 mt27800 family [connectx-5]":
		return "1017", true
	case "15b3 mt28800 family [connectx-5 ex virtual function]":
		return "101a", true
	case "15b3 mt28800 family [connectx-5 ex]":
		return "1019", true
	case "15b3 mt28908 family [connectx-6 virtual function]":
		return "101c", true
	case "15b3 mt28908 family [connectx-6]":
		return "101b", true
	case "15b3 mt2892 family [connectx-6 dx]":
		return "101d", true
	case "15b3 mt2894 family [connectx-6 lx]":
		return "101f", true
	case "15b3 mt2910 family [connectx-7]":
		return "1021", true
	case "15b3 mt416842 bluefield integrated connectx-5 network controller":
		return "a2d2", true
	case "15b3 mt416842 bluefield multicore soc family vf":
		return "a2d3", true
	case "15b3 mt42822 bluefield-2 integrated connectx-6 dx network controller":
		return "a2d6", true
	case "15b3 mt43162 bluefield-3 lx integrated connectx-7 network controller":
		return "a2d9", true
	case "15b3 mt43244 bluefield-3 integrated connectx-7 network controller":
		return "a2dc", true
	case "15b3 nvme snap controller":
		return "6001", true
	case "1ded elastic rdma adapter":
		return "107f", true
	}
	return "", false
}

func byFirmware(major string) (string, bool) {
	switch major {
	case "12":
		return "connectx-4", true
	case "14":
		return "connectx-4-lx", true
	case "16":
		return "connectx-5", true
	case "18":
		return "bluefield-1", true
	case "20":
		return "connectx-6", true
	case "22":
		return "connectx-6-dx", true
	case "24":
		return "bluefield-2", true
	case "26":
		return "connectx-6-lx", true
	case "28":
		return "connectx-7", true
	case "32":
		return "bluefield-3", true
	case "40":
		return "connectx-8", true
	case "82":
		return "connectx-9", true
	}
	return "", false
}

func generations() []string {
	return []string{"connectx-1", "connectx-2", "connectx-3", "connectx-3-pro", "connect-ib", "connectx-4", "connectx-4-lx", "connectx-5", "connectx-5-ex", "connectx-6", "connectx-6-dx", "connectx-6-lx", "connectx-7", "connectx-8", "connectx-9", "connectx-10", "bluefield-2", "bluefield-3", "bluefield-4", "bluefield-1", "bluefield-3-lx"}
}
