package rules

// Container refuses to change a host from inside one of its containers.
const Container Code = "container"

func container() Rule {
	return Rule{Name: "container", Scope: Anything, Source: "namespaces(7): kernel modules and udev belong to no namespace", Judge: func(in Input) []Finding {
		f := in.Facts.Platform.Container
		if inside, ok := f.Get(); !ok || !inside {
			return nil
		}
		runtime := ""
		if name, ok := in.Facts.Platform.ContainerRuntime.Get(); ok && name != "" {
			runtime = " (" + name + ")"
		}
		return refuse(Container, f.Source, "this is a container%s: kernel modules, udev rules and limits are those of the machine "+
			"that it runs on, so the stack is installed there and /dev/infiniband is passed in", runtime)
	}}
}
