{{- define "wattgate.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "wattgate.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "wattgate.labels" -}}
{{ include "wattgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "wattgate.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "wattgate.name" .) "default" .Values.serviceAccount.create) -}}
{{- end }}

{{- define "wattgate.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* The process ends WATTGATE_DRAIN_LIMIT seconds after SIGTERM at the latest. 5 seconds more are for its exit. */ -}}
{{- define "wattgate.gracePeriod" -}}
{{- add (ceil (default 25 .Values.settings.WATTGATE_DRAIN_LIMIT | float64)) 5 -}}
{{- end }}

{{- /* Refuse values that pass the schema and cannot work. */ -}}
{{- define "wattgate.check" -}}
{{- $several := or .Values.autoscaling.enabled (gt (int .Values.gateway.replicas) 1) -}}
{{- if not (or .Values.secrets.WATTGATE_SECRET_KEYS .Values.settings.WATTGATE_SECRET_KEYS_FILE) -}}
{{- fail "Set secrets.WATTGATE_SECRET_KEYS or settings.WATTGATE_SECRET_KEYS_FILE: `wattgate keys new` prints a key." -}}
{{- end -}}
{{- if and $several (not .Values.secrets.WATTGATE_REDIS_URL) -}}
{{- fail "Set secrets.WATTGATE_REDIS_URL, or gateway.replicas to 1: several gateways need Redis." -}}
{{- end -}}
{{- if and $several .Values.secrets.WATTGATE_MQTT_URL -}}
{{- fail "Set gateway.replicas to 1 without autoscaling: gateways with secrets.WATTGATE_MQTT_URL need different client IDs." -}}
{{- end -}}
{{- range $name, $reference := .Values.secrets -}}
{{- if hasKey $.Values.settings $name -}}
{{- fail (printf "Remove settings.%s or secrets.%s: both are set." $name $name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* A list or a number becomes JSON, which the settings read. Helm would write large numbers with an exponent. */ -}}
{{- define "wattgate.environment" -}}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ (kindIs "string" $value | ternary $value (toJson $value)) | quote }}
{{- end }}
{{- if .Values.erasureList.claim }}
- name: WATTGATE_ERASURE_LIST
  value: {{ printf "%s/list" .Values.erasureList.mountPath | quote }}
{{- end }}
{{- range $name, $reference := .Values.secrets }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $reference.name | quote }}
      key: {{ $reference.key | quote }}
{{- end }}
{{- end }}

{{- define "wattgate.extraEnvironment" -}}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Service links are off: those of a Service `wattgate` are unknown variables WATTGATE_*, which stop the start. */ -}}
{{- define "wattgate.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
{{- range $index, $file := .Values.secretFiles }}
  - name: secret-{{ $index }}
    secret:
      secretName: {{ $file.name | quote }}
{{- end }}
{{- with .Values.erasureList.claim }}
  - name: erasures
    persistentVolumeClaim:
      claimName: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "wattgate.container" -}}
image: {{ include "wattgate.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- range $index, $file := .Values.secretFiles }}
  - name: secret-{{ $index }}
    mountPath: {{ $file.mountPath | quote }}
    readOnly: true
{{- end }}
{{- if .Values.erasureList.claim }}
  - name: erasures
    mountPath: {{ .Values.erasureList.mountPath | quote }}
{{- end }}
{{- end }}

{{- define "wattgate.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
