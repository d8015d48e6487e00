{{- /* The name of the objects outside of any namespace: each installation has its own. */ -}}
{{- define "hypot.clusterName" -}}
{{- if eq .Release.Namespace "hypot-system" }}hypot{{ else }}hypot-{{ .Release.Namespace }}{{ end -}}
{{- end -}}

{{- /* The same for other components than the controller: the context and their name. */ -}}
{{- define "hypot.installedName" -}}
{{- $context := index . 0 -}}
{{- index . 1 }}{{ if ne $context.Release.Namespace "hypot-system" }}-{{ $context.Release.Namespace }}{{ end -}}
{{- end -}}

{{- define "hypot.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* The configuration file. If no kind sizes pods, there is no webhook and no port for it. */ -}}
{{- define "hypot.config" -}}
{{- include "hypot.check" . -}}
{{- $config := set (deepCopy .Values.config) "namespace" .Release.Namespace -}}
{{- /* YAML reads the unquoted word off as false. */ -}}
{{- range $kind, $mode := $config.kinds -}}
{{- if not $mode }}{{ $_ := set $config.kinds $kind "off" }}{{ end -}}
{{- end -}}
{{- if not (include "hypot.may.webhook" .) -}}
{{- $config = set $config "webhookPort" 0 -}}
{{- end -}}
{{ toYaml $config }}
{{- end -}}
