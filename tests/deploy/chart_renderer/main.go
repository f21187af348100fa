// Command chart_renderer renders a Helm chart like `helm template`, as far as our chart needs.
//
// Usage: chart_renderer CHART RELEASE NAMESPACE [VALUES...]
//
// It prints one JSON object: the merged values, and the text of each template by its file name. It has the functions
// of sprig and these of Helm: include, required, tpl, toYaml, toJson and .Files.Get. Numbers of values are floats, as in Helm.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type object = map[string]interface{}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// readYaml reads a file like Helm, which converts YAML to JSON first.
func readYaml(path string) object {
	text, err := os.ReadFile(path)
	check(err)
	var content, converted object
	check(yaml.Unmarshal(text, &content))
	encoded, err := json.Marshal(content)
	check(err)
	check(json.Unmarshal(encoded, &converted))
	return converted
}

// merge lays values over others. Maps merge, null removes a key, and all else replaces.
func merge(base, over object) object {
	if base == nil {
		base = object{}
	}
	for key, value := range over {
		inner, isMap := value.(object)
		old, wasMap := base[key].(object)
		switch {
		case value == nil:
			delete(base, key)
		case isMap && wasMap:
			base[key] = merge(old, inner)
		default:
			base[key] = value
		}
	}
	return base
}

// toYaml writes integers without an exponent, because it decodes the JSON again.
func toYaml(value interface{}) (string, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	var decoded interface{}
	if err := yaml.Unmarshal(encoded, &decoded); err != nil {
		return "", err
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err = encoder.Encode(decoded)
	return strings.TrimSuffix(text.String(), "\n"), err
}

func toJson(value interface{}) (string, error) {
	encoded, err := json.Marshal(value)
	return string(encoded), err
}

func required(message string, value interface{}) (interface{}, error) {
	if value == nil || value == "" {
		return nil, fmt.Errorf("%s", message)
	}
	return value, nil
}

// files is the folder of the chart, as .Files of Helm.
type files string

func (folder files) Get(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(folder), name))
	return string(text), err
}

func newTemplate() *template.Template {
	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = toYaml
	functions["toJson"] = toJson
	functions["required"] = required
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["tpl"] = func(source string, data interface{}) (string, error) {
		inner, err := template.Must(root.Clone()).New("tpl").Parse(source)
		if err != nil {
			return "", err
		}
		var text strings.Builder
		err = inner.Execute(&text, data)
		return text.String(), err
	}
	return root.Funcs(functions)
}

func main() {
	if len(os.Args) < 4 {
		check(fmt.Errorf("usage: chart_renderer CHART RELEASE NAMESPACE [VALUES...]"))
	}
	chart, release, namespace := os.Args[1], os.Args[2], os.Args[3]
	values := readYaml(filepath.Join(chart, "values.yaml"))
	for _, path := range os.Args[4:] {
		values = merge(values, readYaml(path))
	}
	described := readYaml(filepath.Join(chart, "Chart.yaml"))
	data := object{
		"Values":  values,
		"Files":   files(chart),
		"Chart":   object{"Name": described["name"], "Version": described["version"], "AppVersion": described["appVersion"]},
		"Release": object{"Name": release, "Namespace": namespace, "Service": "Helm", "IsInstall": true, "IsUpgrade": false},
	}
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	root := newTemplate()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		_, err = root.New(filepath.Base(path)).Parse(string(text))
		check(err)
	}
	rendered := map[string]string{}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text strings.Builder
		check(root.ExecuteTemplate(&text, name, data))
		rendered[name] = text.String()
	}
	check(json.NewEncoder(os.Stdout).Encode(object{"values": values, "files": rendered}))
}
