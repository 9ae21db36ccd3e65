package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/rdmactl/rdmactl/internal/fault"
	"github.com/rdmactl/rdmactl/profiles/matrix"
	"github.com/spf13/cobra"
)

func newMatrixCmd(g *globalOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "matrix",
		GroupID: "around",
		Short:   "Check and extend what is known of releases, systems and cards",
		Long: `The matrix is what is documented of RDMA stacks: releases and the systems, kernels and cards that they were
seen to support, each with its source. It is built in; files in /etc/rdmactl/matrix.d and those named with
--matrix add to it.` + exitStatus(0, fault.Usage),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMatrixQueryCmd(g), newMatrixImportCmd(g), newMatrixLintCmd(g))
	return cmd
}

func newMatrixLintCmd(g *globalOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "lint [FILE|DIR]...",
		Short: "Check matrix files",
		Long: `Check matrix files, of a directory its *.yaml; each fault is named with file, line and column. The files are
also put together with the built-in matrix: a branch that nobody has and what contradicts it are faults.
Without arguments the files of /etc/rdmactl/matrix.d are checked.` + exitStatus(0, fault.Usage),
		Example: "  rdmactl matrix lint mirror.yaml\n  rdmactl matrix lint /etc/rdmactl/matrix.d",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return runMatrixLint(args, g) },
	}
}

// matrixSchema names the JSON form of a matrixList.
const matrixSchema = "rdmactl.matrix/v1"

type matrixList struct {
	Schema string       `json:"schema"`
	Files  []matrixFile `json:"files"`
}

// matrixFile is a sound file and how many entries it has in each section.
type matrixFile struct {
	File    string                `json:"file"`
	Entries []matrix.SectionCount `json:"entries"`
}

func runMatrixLint(args []string, g *globalOptions) error {
	var faulty faults
	files, err := lintFiles(args, g.etc)
	if err != nil {
		return err
	}
	list := matrixList{Schema: matrixSchema, Files: []matrixFile{}}
	var sound []*matrix.Matrix
	for _, file := range files {
		data, err := readRegular(file, maxMatrix)
		if err != nil {
			faulty.add(fault.New(fault.Usage, "faulty-matrix", "name a matrix file", "cannot read matrix file %s: %w", file, err))
			continue
		}
		m, err := matrix.Load(file, data)
		if err != nil {
			faulty.add(err)
			continue
		}
		sound = append(sound, m)
		list.Files = append(list.Files, matrixFile{file, m.Sections()})
	}
	base, err := matrix.Embedded()
	if err != nil {
		return err
	}
	if _, err := matrix.Merge(base, sound...); err != nil {
		faulty.add(err)
		return faulty.err()
	}
	if len(list.Files) == 0 && len(files) > 0 {
		return faulty.err()
	}
	return errors.Join(g.one(answer{value: list, table: func(w io.Writer) error { return lintTable(w, list) }}), faulty.err())
}

// lintFiles are the files that the arguments name, those of the administrator without any.
func lintFiles(args []string, etc string) ([]string, error) {
	if len(args) == 0 {
		if etc == "" {
			return nil, fault.New(fault.Usage, "usage", "name the files", "cannot check the matrix: no file was given")
		}
		return administratorsFiles(filepath.Join(etc, "matrix.d"))
	}
	var files []string
	for _, path := range args {
		found, err := matrixFiles(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

func lintTable(w io.Writer, list matrixList) error {
	if len(list.Files) == 0 {
		_, err := fmt.Fprintln(w, "there are no matrix files beside the built-in matrix")
		return err
	}
	for _, f := range list.Files {
		var parts []string
		for _, e := range f.Entries {
			parts = append(parts, fmt.Sprintf("%s %d", e.Section, e.Entries))
		}
		if len(parts) == 0 {
			parts = []string{"no entries"}
		}
		if _, err := fmt.Fprintf(w, "%s: matrix file is well-formed (%s)\n", f.File, strings.Join(parts, ", ")); err != nil {
			return err
		}
	}
	return nil
}
