{{- define "hypot.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- /* The configuration file. Where no kind sizes pods there is no webhook, and no port for it. */ -}}
{{- define "hypot.config" -}}
{{- $config := set (deepCopy .Values.config) "namespace" .Release.Namespace -}}
{{- if not (include "hypot.may.webhook" .) -}}
{{- $config = set $config "webhookPort" 0 -}}
{{- end -}}
{{ toYaml $config }}
{{- end -}}
