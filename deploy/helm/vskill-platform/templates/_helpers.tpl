{{- define "vskill.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "vskill.labels" -}}
{{ include "vskill.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "vskill.selector" -}}
app.kubernetes.io/name: vskill-platform
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The pod of a web or worker node. Takes root, component, command, resources. */}}
{{- define "vskill.pod" -}}
{{- $root := .root -}}
{{- $shared := ne $root.Values.database.urlSecret "" -}}
metadata:
  labels:
    {{- include "vskill.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  # VSKILL_STOP_GRACE is 20 s, and the process ends by itself ten seconds later.
  terminationGracePeriodSeconds: 40
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: {{ toJson .command }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      env:
        - name: VSKILL_NODE
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - {name: VSKILL_PUBLIC_URL, value: {{ $root.Values.publicUrl | quote }}}
        - {name: VSKILL_TRUSTED_PROXIES, value: {{ $root.Values.trustedProxies | quote }}}
        {{- if $shared }}
        - {name: VSKILL_DATABASE_URL, value: ""}
        - {name: VSKILL_DATABASE_URL_FILE, value: /run/secrets/vskill/VSKILL_DATABASE_URL}
        {{- end }}
        {{- range $name, $value := $root.Values.settings }}
        - {name: {{ $name }}, value: {{ $value | toString | quote }}}
        {{- end }}
        {{- range $name, $_ := $root.Values.secretSettings }}
        - {name: {{ $name }}_FILE, value: /run/secrets/vskill/{{ $name }}}
        {{- end }}
      {{- if eq .component "web" }}
      ports:
        - {name: http, containerPort: 8000}
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 15
        timeoutSeconds: 5
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 3
      {{- end }}
      resources: {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: cache, mountPath: /var/cache/vskill}
        {{- if not $shared }}
        - {name: data, mountPath: /var/lib/vskill}
        {{- end }}
        {{- if or $shared $root.Values.secretSettings }}
        - {name: secrets, mountPath: /run/secrets/vskill, readOnly: true}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {sizeLimit: {{ $root.Values.tmpSize }}}
    - name: cache
      emptyDir: {sizeLimit: {{ $root.Values.cacheSize }}}
    {{- if not $shared }}
    - name: data
      persistentVolumeClaim: {claimName: {{ include "vskill.name" $root }}}
    {{- end }}
    {{- if or $shared $root.Values.secretSettings }}
    - name: secrets
      projected:
        defaultMode: 0440
        sources:
          {{- if $shared }}
          - secret:
              name: {{ $root.Values.database.urlSecret }}
              items: [{key: {{ $root.Values.database.urlSecretKey }}, path: VSKILL_DATABASE_URL}]
          {{- end }}
          {{- range $name, $from := $root.Values.secretSettings }}
          - secret:
              name: {{ $from.secret }}
              items: [{key: {{ $from.key }}, path: {{ $name }}}]
          {{- end }}
    {{- end }}
  {{- with $root.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
