{{- define "hypot.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- /* The configuration file. Where no kind sizes pods there is no webhook, and no port for it. */ -}}
{{- define "hypot.config" -}}
{{- include "hypot.check" . -}}
{{- $config := set (deepCopy .Values.config) "namespace" .Release.Namespace -}}
{{- /* YAML takes the bare word off for false. */ -}}
{{- range $kind, $mode := $config.kinds -}}
{{- if not $mode }}{{ $_ := set $config.kinds $kind "off" }}{{ end -}}
{{- end -}}
{{- if not (include "hypot.may.webhook" .) -}}
{{- $config = set $config "webhookPort" 0 -}}
{{- end -}}
{{ toYaml $config }}
{{- end -}}
